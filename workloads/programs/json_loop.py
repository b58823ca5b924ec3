"""Reads and writes a JSON document over and over, as a web service does. Run by scripts/bench.sh under several allocators."""
import json

document = {
    "users": [
        {"id": number, "name": f"user number {number}", "tags": [f"tag-{number % 7}", "x" * (number % 300)], "score": number / 7}
        for number in range(400)
    ]
}
total = 0
for turn in range(40):
    document["users"][turn]["name"] = "renamed " * turn
    text = json.dumps(document)
    document = json.loads(text)
    total += len(text)
print(total)
