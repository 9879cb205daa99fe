"""Leave out folder markers from listings of object stores.

Object stores have no folders. Hadoop's S3A client, the console of AWS and other tools create an empty object whose key
ends with a slash in place of an empty folder, and some of them keep this object when the folder gets files. obstore
removes the slash, so the listing shows the object as an empty file with the path of the folder.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence

from hudi_table_services.storage.stores.paths import file_name
from hudi_table_services.storage.stores.storage import StoredObject


def without_folder_markers(
    found: Sequence[StoredObject], folder: str, exists: Callable[[str], bool]
) -> list[StoredObject]:
    """Return the objects that are not folder markers.

    An empty object is a folder marker if its path is the listed folder, or the folder of another object, or if there is
    no object of exactly this name. The last condition costs one request for each empty object, so it is checked only
    for names without an extension: empty files of Hudi, such as requested instants and the markers of data files, have
    an extension. So the marker of an empty folder whose name contains a dot is not recognized.

    Args:
        found: all objects below the folder, sorted by path.
        folder: the listed folder; empty for the base path.
        exists: returns whether there is an object with exactly this path.
    """
    paths = [each.path for each in found]

    def is_marker(path: str) -> bool:
        if path in ("", folder):
            return True
        first = bisect_left(paths, f"{path}/")
        if first < len(paths) and paths[first].startswith(f"{path}/"):
            return True
        return "." not in file_name(path)[1:] and not exists(path)

    return [each for each in found if each.size_bytes or not is_marker(each.path)]
