# Read by the scripts that run in a mount namespace of their own: "own_root LOWER PLACE" lays a root
# over the prepared one and names it $root. Whatever is written there goes into memory and is gone
# with the namespace.
own_root() {
    mount --make-rprivate /
    mount -t tmpfs -o mode=755 overlay "$2"
    mkdir "$2/upper" "$2/work" "$2/root"
    root=$2/root
    mount -t overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" overlay "$root"
    mount -t proc proc "$root/proc"
    mount --rbind /dev "$root/dev"
}

# Makes a folder seen inside under the name it has outside.
share() {
    mkdir -p "$root$1"
    mount --bind "$1" "$root$1"
}
