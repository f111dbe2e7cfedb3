/** Channels of remote commands: what a container prints, and the size of the terminal. Input is never read. */

/** Receives what a connection carries, in its order. The bytes are valid during the call alone. */
export interface ChannelReader {
  output(channel: 'out' | 'err', bytes: Buffer): void;
  /** A size of the terminal as JSON, as its client sends it. */
  size(json: string): void;
}

/** Follows the bytes of a connection in both directions. */
export interface Channels {
  /** @throws Error if the bytes are not of the protocol */
  sent(chunk: Buffer): void;
  /**
   * Returns the bytes for the client: the given ones, and a text for its terminal as soon as the protocol allows one.
   *
   * @throws Error if the bytes are not of the protocol
   */
  received(chunk: Buffer): Buffer[];
}

/** Bound of a size of the terminal in JSON. */
export const maxSizeBytes = 256;
