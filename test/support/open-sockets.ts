import type { Socket } from 'node:net';

/** Open connections of a proxy, which would otherwise delay its stop. */
export class OpenSockets extends Set<Socket> {
  track(socket: Socket): void {
    this.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.delete(socket));
  }

  destroy(): void {
    for (const socket of this) socket.destroy();
  }
}
