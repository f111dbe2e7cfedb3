import { argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { type Bounds, Semaphore } from '@atrium/http/limits/semaphore.ts';

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
function parseHash(text: string): Argon2Hash | undefined {
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

type Cost = Pick<Argon2Hash, 'memoryKiB' | 'passes' | 'parallelism'>;

/** Minimum cost of argon2id in the OWASP Password Storage Cheat Sheet. */
const defaultCost: Cost = { memoryKiB: 19_456, passes: 2, parallelism: 1 };
const saltBytes = 16;
const tagBytes = 32;
const maxCharacters = 128;

/** Bound of concurrent hashes. Each occupies a thread of the pool and its memory for about 50 ms. More of them would starve other work. */
const defaultTurns = { atOnce: 2, maxWaiting: 256 };

const derive = promisify(argon2);

/** Hashes and verifies passwords. All methods: @throws StatusError 429 if too many requests are waiting. */
export class Passwords {
  readonly #turns: Semaphore;
  readonly #dummy: Argon2Hash;

  /** @param cost no setting: a service whose hashes are cheap is for tests */
  constructor(turns: Omit<Bounds, 'what'> = defaultTurns, cost: Cost = defaultCost) {
    this.#turns = new Semaphore({ ...turns, what: 'passwords are being checked' });
    this.#dummy = { ...cost, salt: randomBytes(saltBytes), tag: Buffer.alloc(tagBytes) };
  }

  /**
   * Hashes a password.
   *
   * @param password 1 to 128 characters
   * @returns a self-describing text with its own salt (PHC string format, argon2id)
   */
  async hash(password: string): Promise<string> {
    if (!hasValidLength(password)) throw new RangeError('a password has 1 to 128 characters');
    const unhashed = { ...this.#dummy, salt: randomBytes(saltBytes) };
    return formatHash({ ...unhashed, tag: await this.#tag(password, unhashed) });
  }

  /**
   * Verifies a password. Takes the same time for any password, even for an impossible one.
   *
   * @param encoded a result of `hash`; any other text matches no password
   * @returns `match-rehash` if the password is right, and the hash was made at less than the present cost
   */
  async verify(password: string, encoded: string): Promise<'match' | 'match-rehash' | 'mismatch'> {
    const expected = parseHash(encoded);
    if (expected === undefined || !hasValidLength(password)) {
      await this.dummyVerify(password);
      return 'mismatch';
    }
    if (!timingSafeEqual(await this.#tag(password, expected), expected.tag)) return 'mismatch';
    return this.#isUpToDate(expected) ? 'match' : 'match-rehash';
  }

  /** Does the work of a verification, for users without a hash. */
  async dummyVerify(password: string): Promise<void> {
    await this.#tag(hasValidLength(password) ? password : '', this.#dummy);
  }

  #isUpToDate = ({ memoryKiB, passes, salt, tag }: Argon2Hash): boolean =>
    memoryKiB >= this.#dummy.memoryKiB && passes >= this.#dummy.passes && salt.length >= saltBytes && tag.length >= tagBytes;

  #tag(password: string, { memoryKiB, passes, parallelism, salt, tag }: Argon2Hash): Promise<Buffer> {
    // RFC 8265, 4.2: keyboards with and without composed accents type the same password.
    const message = password.normalize('NFC');
    return this.#turns.run(() =>
      derive('argon2id', { message, nonce: salt, memory: memoryKiB, passes, parallelism, tagLength: tag.length }),
    );
  }
}

const hasValidLength = (password: string) =>
  password !== '' && password.length <= 2 * maxCharacters && [...password].length <= maxCharacters;
