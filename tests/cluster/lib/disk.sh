# A node's disk: an ext4 image on a loop device, so that O_DIRECT, fsync and a full disk are real.
# Sourced by ../cluster.

image() { # K
  echo "$D/disks/n$1.img"
}

disk_size() { # K
  local word size=3G
  for word in ${STAGE_CLUSTER_DISK:-}; do
    case $word in
      *@"$1") echo "${word%@*}"; return ;;
      *@*) ;;
      *) size=$word ;;
    esac
  done
  echo "$size"
}

make_disk() { # K
  truncate -s "$(disk_size "$1")" "$(image "$1")"
  # The image is sparse: what would be zeroed or discarded is a hole already.
  mkfs.ext4 -q -F -m 0 -E nodiscard,lazy_itable_init=1,lazy_journal_init=1 "$(image "$1")"
}

# Mounts node K's disk at $D/nvme of the caller's mount namespace.
mount_disk() { # K
  local loop
  # Direct I/O on the image where the file system below can do it, or O_DIRECT ends in the page cache.
  loop=$(losetup --find --show --direct-io=on "$(image "$1")" 2>/dev/null) ||
    loop=$(losetup --find --show "$(image "$1")")
  mount -o noatime,noinit_itable "$loop" "$D/nvme"
  # Detached while it is in use, the kernel frees it with the last mount: nothing is left behind
  # however the node ends.
  losetup -d "$loop"
}

# Waits until no loop device holds an image any more.
disks_released() {
  local t k left
  for ((t = 0; t < 100; t++)); do
    left=
    for k in "$D"/disks/*.img; do
      [ -e "$k" ] && left+=$(losetup -n -O NAME -j "$k")
    done
    [ -z "$left" ] && return 0
    sleep 0.1
  done
  # A device that nothing mounts but that was never detached (killed between the two lines above).
  for k in "$D"/disks/*.img; do
    for left in $(losetup -n -O NAME -j "$k"); do losetup -d "$left"; done
  done
  sleep 0.5
  for k in "$D"/disks/*.img; do
    [ -z "$(losetup -n -O NAME -j "$k")" ] || return 1
  done
}
