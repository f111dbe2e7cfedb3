/** Tokens of this user on this machine: one file for each login, which no other user can read. */
import { hash, randomBytes } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { lstat, mkdir, open, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import * as z from 'zod/mini';
import { lockEnding, withLock } from './lock.ts';
import { type LogIn, logInSchema } from './settings.ts';
import { CommandError, type Terminal } from './terminal.ts';
import { claimsOf, type Tokens, tokensSchema } from './tokens.ts';

const entrySchema = z.object({ logIn: logInSchema, tokens: tokensSchema });
export type Entry = z.infer<typeof entrySchema>;

const maxBytes = 1024 * 1024;
const ending = '.json';

export class TokenCache {
  readonly #directory: string;
  readonly #terminal: Terminal;

  constructor(terminal: Terminal) {
    this.#directory = join(cacheDirectory(terminal), 'atrium');
    this.#terminal = terminal;
  }

  /** Returns undefined if there are no readable tokens. @throws CommandError if other users could have written or read them */
  async read(logIn: LogIn): Promise<Tokens | undefined> {
    return (await this.#entry(this.#file(logIn)))?.tokens;
  }

  /** Writes the tokens atomically. */
  async write(logIn: LogIn, tokens: Tokens): Promise<void> {
    await this.#prepare();
    const file = this.#file(logIn);
    const temporary = `${file}.${randomBytes(8).toString('hex')}`;
    const entry: Entry = { logIn, tokens };
    try {
      await writeFile(temporary, `${JSON.stringify(entry)}\n`, { mode: 0o600, flag: 'wx', flush: true });
      await rename(temporary, file);
    } catch (error) {
      await rm(temporary, { force: true });
      throw error;
    }
  }

  async remove(logIn: LogIn): Promise<void> {
    await rm(this.#file(logIn), { force: true });
  }

  /** Returns the entries of all stored logins. */
  async entries(): Promise<Entry[]> {
    const names = await readdir(this.#directory).catch(() => []);
    const entries = await Promise.all(
      names.filter((name) => name.endsWith(ending)).map((name) => this.#entry(join(this.#directory, name))),
    );
    return entries.filter((entry) => entry !== undefined);
  }

  /** Runs the work while no other process works with the same login. @throws CommandError if another process takes too long */
  async alone<T>(logIn: LogIn, work: () => Promise<T>, waitMs: number): Promise<T> {
    await this.#prepare();
    return withLock(`${this.#file(logIn)}${lockEnding}`, work, { waitMs, signal: this.#terminal.signal });
  }

  #file({ issuer, clientID, scopes, loginHint = '' }: LogIn): string {
    return join(this.#directory, `${hash('sha256', JSON.stringify([issuer, clientID, scopes, loginHint]))}${ending}`);
  }

  async #entry(file: string): Promise<Entry | undefined> {
    const text = await this.#readOwn(file);
    if (text === undefined) return undefined;
    try {
      const entry = entrySchema.parse(JSON.parse(text));
      claimsOf(entry.tokens);
      return entry;
    } catch {
      // The entry is of another version, or truncated: a login replaces it.
      return undefined;
    }
  }

  async #readOwn(path: string): Promise<string | undefined> {
    await this.#refuseForeign(this.#directory);
    // Windows has no such flag.
    const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0);
    const file = await open(path, flags).catch((error: unknown) => {
      if (isMissing(error)) return undefined;
      throw new CommandError(`${path} cannot be read; remove it`, { cause: error });
    });
    if (file === undefined) return undefined;
    try {
      const stats = await file.stat();
      if (!stats.isFile() || this.#isForeign(stats) || stats.size > maxBytes) throw foreign(path);
      return await file.readFile('utf8');
    } finally {
      await file.close();
    }
  }

  async #prepare(): Promise<void> {
    await mkdir(this.#directory, { recursive: true, mode: 0o700 }).catch((error: unknown) => {
      throw new CommandError(`${this.#directory} cannot be made`, { cause: error });
    });
    await this.#refuseForeign(this.#directory);
  }

  async #refuseForeign(directory: string): Promise<void> {
    const stats = await lstat(directory).catch((error: unknown) => {
      if (!isMissing(error)) throw error;
    });
    if (stats !== undefined && (!stats.isDirectory() || this.#isForeign(stats))) throw foreign(directory);
  }

  /** Windows separates the folders of users by other means. */
  #isForeign({ uid, mode }: Stats): boolean {
    const { userID } = this.#terminal;
    return userID !== undefined && (uid !== userID || (mode & 0o077) !== 0);
  }
}

const foreign = (path: string) =>
  new CommandError(`${path} is not yours alone: others could read or change it. Remove it and log in again`);

const isMissing = (error: unknown) => error instanceof Error && 'code' in error && error.code === 'ENOENT';

/** @see https://specifications.freedesktop.org/basedir-spec/latest/ */
function cacheDirectory({ environment, platform, homeDirectory }: Terminal): string {
  const { XDG_CACHE_HOME: named, LOCALAPPDATA: local } = environment;
  if (named && isAbsolute(named)) return named;
  if (platform === 'darwin') return join(homeDirectory, 'Library', 'Caches');
  if (platform === 'win32') return local || join(homeDirectory, 'AppData', 'Local');
  return join(homeDirectory, '.cache');
}
