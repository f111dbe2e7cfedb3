import { chmod, mkdir, readdir, rename, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Terminal } from 'kubectl-atrium/terminal.ts';
import { withLock } from '../../../packages/kubectl-atrium/src/lock.ts';
import { TokenCache } from '../../../packages/kubectl-atrium/src/token-cache.ts';
import { Machine } from './machine.ts';

const logIn = { issuer: 'https://issuer.example', clientID: 'kubectl', scopes: 'openid' };
const claims = Buffer.from(JSON.stringify({ sub: 'jane', exp: 4_000_000_000 })).toString('base64url');
const tokens = { idToken: `e30.${claims}.e30`, refreshToken: 'r' };
const never = new AbortController().signal;

describe('the kept tokens', () => {
  let machine: Machine;
  let cache: TokenCache;

  const terminal = (changes: Partial<Terminal> = {}): Terminal => ({
    environment: machine.environment,
    stdout: process.stdout,
    stderr: process.stderr,
    isInteractive: false,
    platform: 'linux',
    userID: process.getuid?.(),
    homeDirectory: machine.home,
    signal: never,
    ...changes,
  });
  const refusal = (promise: Promise<unknown>) =>
    promise.then(
      () => 'taken',
      (error: unknown) => (error instanceof Error ? error.message : ''),
    );

  beforeEach(async () => {
    machine = await Machine.create();
    cache = new TokenCache(terminal());
  });
  afterEach(() => machine.remove());

  it('are where the system has such things', async () => {
    const places: Record<string, Partial<Terminal>> = {
      'cache/atrium': {},
      '.cache/atrium': { environment: {} },
      'Library/Caches/atrium': { environment: {}, platform: 'darwin' },
      'AppData/Local/atrium': { environment: {}, platform: 'win32' },
      'local/atrium': { environment: { LOCALAPPDATA: join(machine.home, 'local') }, platform: 'win32' },
    };
    for (const [place, changes] of Object.entries(places)) {
      await new TokenCache(terminal(changes)).alone(logIn, async () => new TokenCache(terminal(changes)).write(logIn, tokens), 1_000);
      expect(await readdir(join(machine.home, place)), place).to.have.length(1);
    }
    // Relative paths are ignored (XDG Base Directory Specification).
    const relative = new TokenCache(terminal({ environment: { XDG_CACHE_HOME: 'cache' } }));
    expect(await relative.read(logIn)).to.deep.equal(tokens);
  });

  it('are not read from a file that others can read, change or have put there', async () => {
    await cache.write(logIn, tokens);
    const [file = ''] = await machine.kept();
    expect(await cache.read(logIn)).to.deep.equal(tokens);
    for (const mode of [0o640, 0o604, 0o620, 0o602]) {
      await chmod(file, mode);
      expect(await refusal(cache.read(logIn)), mode.toString(8)).to.match(/ is not yours alone: /);
    }
    await chmod(file, 0o600);
    const other = new TokenCache(terminal({ userID: (process.getuid?.() ?? 0) + 1 }));
    expect(await refusal(other.read(logIn))).to.match(/ is not yours alone: /);
    await rename(file, `${file}.moved`);
    await symlink(`${file}.moved`, file);
    expect(await refusal(cache.read(logIn))).to.match(/ cannot be read; remove it$/);
    await rm(file);
    await mkdir(file, { mode: 0o700 });
    expect(await refusal(cache.read(logIn))).to.match(/ is not yours alone: /);
    await rm(file, { recursive: true });
    await writeFile(file, 'x'.repeat(1024 * 1024 + 1), { mode: 0o600 });
    expect(await refusal(cache.read(logIn))).to.match(/ is not yours alone: /);
  });

  it('are neither read from nor written to a folder that others can look into', async () => {
    await cache.write(logIn, tokens);
    for (const mode of [0o755, 0o770, 0o707]) {
      await chmod(machine.cacheDirectory, mode);
      for (const use of [() => cache.read(logIn), () => cache.write(logIn, tokens), () => cache.alone(logIn, async () => undefined, 0)])
        expect(await refusal(use()), mode.toString(8)).to.match(/ is not yours alone: /);
    }
    await chmod(machine.cacheDirectory, 0o700);
    await rename(machine.cacheDirectory, `${machine.cacheDirectory}-moved`);
    await symlink(`${machine.cacheDirectory}-moved`, machine.cacheDirectory);
    expect(await refusal(cache.read(logIn))).to.match(/ is not yours alone: /);
  });

  it('are written whole, for the owner alone, whatever the mask is', async () => {
    const mask = process.umask(0);
    try {
      await Promise.all(Array.from({ length: 20 }, () => cache.write(logIn, tokens)));
    } finally {
      process.umask(mask);
    }
    const [file = '', ...rest] = await machine.kept();
    expect(rest).to.deep.equal([]);
    expect((await stat(file)).mode & 0o777).to.equal(0o600);
    expect((await stat(machine.cacheDirectory)).mode & 0o777).to.equal(0o700);
  });
});

describe('the lock of a login', () => {
  let machine: Machine;
  let path: string;
  beforeEach(async () => {
    machine = await Machine.create();
    path = join(machine.home, 'lock');
  });
  afterEach(() => machine.remove());

  const hold = <T>(work: () => Promise<T>, waitMs = 30_000, signal = never) => withLock(path, work, { waitMs, signal, gonePolls: 20 });
  const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

  it('is held by one at a time, and gone afterwards', async () => {
    let inside = 0;
    const work = async () => {
      inside += 1;
      await pause(10);
      expect(inside).to.equal(1);
      inside -= 1;
    };
    await Promise.all(Array.from({ length: 10 }, () => hold(work)));

    expect(await readdir(machine.home)).to.deep.equal([]);
  });

  it('is given back by work that fails', async () => {
    const failed = await hold(async () => Promise.reject(new Error('no'))).catch((error: Error) => error.message);

    expect(failed).to.equal('no');
    expect(await hold(async () => 'mine')).to.equal('mine');
  });

  it('is taken over by one of those who wait, when its holder has died', async () => {
    await writeFile(path, 'dead');
    // A file time in the future, by the clock of another machine, changes nothing.
    await utimes(path, new Date('2100-01-01'), new Date('2100-01-01'));
    let inside = 0;
    let most = 0;
    const work = async () => {
      inside += 1;
      most = Math.max(most, inside);
      await pause(50);
      inside -= 1;
    };
    await Promise.all(Array.from({ length: 5 }, () => hold(work)));

    expect(most).to.equal(1);
    expect(await readdir(machine.home)).to.deep.equal([]);
  });

  it('is not taken from a holder who lives, however long it takes', async () => {
    let isDone = false;
    const begun = Promise.withResolvers<void>();
    const long = hold(async () => {
      begun.resolve();
      await pause(2_000);
      isDone = true;
    });
    await begun.promise;
    const next = hold(async () => isDone);

    expect(await next).to.equal(true);
    await long;
  });

  it('is waited for no longer than asked, and not after a signal', async () => {
    const [begun, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const held = hold(() => {
      begun.resolve();
      return end.promise;
    });
    await begun.promise;
    const refused = await hold(async () => 'mine', 100).catch((error: Error) => error.message);
    expect(refused).to.equal('another process is logging in, and takes too long');
    const ended = await hold(async () => 'mine', 5_000, AbortSignal.abort(new Error('over'))).catch((error: Error) => error.message);
    expect(ended).to.equal('over');
    end.resolve();
    await held;
  });
});
