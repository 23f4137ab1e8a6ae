#!/bin/sh
# Takes a base backup of PostgreSQL into a folder of its own, each day or once, and keeps the newest ones with the WAL that they
# need: `backup.sh [once]`. The server is named by PGHOST and the like.
#
#   BACKUP   the folder; its archive is `wal` in it, which archive_command fills
#   KEEP     how many base backups stay; 7 when absent
#   EVERY    seconds between two; a day when absent
set -eu
cd "$BACKUP"

take() {
  rm -rf partial
  pg_basebackup --pgdata=partial --checkpoint=fast --no-password
  mv partial "base-$(date -u +%Y-%m-%dT%H%M%SZ)"
  # Names sort by time.
  set -- base-*
  while [ $# -gt "${KEEP:-7}" ]; do
    rm -rf "$1"
    shift
  done
  # Of the archive, what the oldest one that is left needs.
  first=$(sed -n 's/^START WAL LOCATION: .*(file \([0-9A-F]*\)).*/\1/p' "$1/backup_label")
  pg_archivecleanup wal "$first"
  echo "backup: $# base backups, WAL from $first on"
}

if [ "${1:-}" = once ]; then
  take
  exit
fi
# As the first process of a container it would not hear of it otherwise.
trap 'exit 0' TERM INT
while :; do
  # In a process of its own, where a step that fails ends it; the next day is tried in any case.
  sh "$0" once || echo "backup: failed, the ones before it stay"
  sleep "${EVERY:-86400}" &
  wait $!
done
