import type { Socket } from 'node:net';

/** The connections that something between two programs holds: at its stop, what stays open would hold it. */
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
