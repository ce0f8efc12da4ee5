"""Time-free relations over unique columns: the language every later part speaks.

`types` → `schema` → `scalar` → `infer` → `relation` → `properties` → `show`, each using only what stands before it.
"""
