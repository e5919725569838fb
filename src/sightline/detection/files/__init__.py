"""Files of boxes: COCO JSON, Pascal VOC, YOLO."""
