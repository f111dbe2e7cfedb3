import { readFile } from 'node:fs/promises';

/** Megabytes assumed on other systems than Linux, whose files contain the least, default and most bytes of a buffer (tcp(7)). */
const settings = { '/proc/sys/net/ipv4/tcp_rmem': 6, '/proc/sys/net/ipv4/tcp_wmem': 4 };

/**
 * Returns how many bytes the kernel buffers at most between the two ends of a TCP connection of this machine, while its reader reads
 * nothing.
 */
export async function socketBuffers(): Promise<number> {
  const most = await Promise.all(
    Object.entries(settings).map(async ([file, megabytes]) => {
      const text = await readFile(file, 'utf8').catch(() => `${megabytes * 1024 * 1024}`);
      return Number(text.trim().split(/\s+/).at(-1));
    }),
  );
  return most.reduce((sum, bytes) => sum + bytes, 0);
}
