/** Cost and result of argon2id (RFC 9106). */
export interface Argon2Hash {
  memoryKiB: number;
  passes: number;
  parallelism: number;
  salt: Buffer;
  tag: Buffer;
}

const pattern = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=(\d{1,2})\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{22,86})$/;

/** Maximum cost that a stored hash may demand, whatever wrote it. */
const maxMemoryKiB = 262_144;
const maxPasses = 16;

const unpadded = (bytes: Buffer) => bytes.toString('base64').replace(/={1,2}$/, '');

/**
 * Formats a hash as `$argon2id$v=19$m=19456,t=2,p=1$<salt>$<tag>`.
 *
 * @see https://github.com/P-H-C/phc-string-format/blob/master/phc-sf-spec.md
 */
export const formatHash = ({ memoryKiB, passes, parallelism, salt, tag }: Argon2Hash): string =>
  `$argon2id$v=19$m=${memoryKiB},t=${passes},p=${parallelism}$${unpadded(salt)}$${unpadded(tag)}`;

/** Returns undefined for any other text, and for a hash that costs too much. */
export function parseHash(text: string): Argon2Hash | undefined {
  const [, memory, passes, parallelism, salt = '', tag = ''] = pattern.exec(text) ?? [];
  const hash = {
    memoryKiB: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    salt: Buffer.from(salt, 'base64'),
    tag: Buffer.from(tag, 'base64'),
  };
  const isAffordable = hash.memoryKiB <= maxMemoryKiB && hash.passes >= 1 && hash.passes <= maxPasses && hash.parallelism >= 1;
  return isAffordable && hash.memoryKiB >= 8 * hash.parallelism ? hash : undefined;
}
