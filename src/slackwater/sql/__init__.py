"""From Spark SQL text to relations and back: parse → bind → decorrelate … emit."""
