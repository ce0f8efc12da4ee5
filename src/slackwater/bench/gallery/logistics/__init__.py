"""Parcel logistics: shipments as upserts while their addresses change, scans that are corrected, exceptions."""
