"""The golden run: two small studies, and every answer the product gives about them."""
