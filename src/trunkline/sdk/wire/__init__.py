"""What crosses HTTP, for the server and the remote lake alike.

`values` reads and writes the model's values; the other files are the bodies of requests, a file
for each noun. Nothing here may be changed in a way that an older client would not understand:
fields are added with defaults, and neither renamed nor removed within an API version.
"""
