import { existsSync } from 'node:fs';

/** What container runtimes leave in a container: files of Docker and Podman, the mounted account of Kubernetes. */
const MARKS = ['/.dockerenv', '/run/.containerenv', '/var/run/secrets/kubernetes.io'];

/** Whether this process runs in a container, whose network is its own. */
export function inContainer(exists: (path: string) => boolean = existsSync): boolean {
  return MARKS.some((mark) => exists(mark));
}
