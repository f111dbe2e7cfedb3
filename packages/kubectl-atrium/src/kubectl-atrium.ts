/**
 * Login of kubectl as a separate program for users' machines: `kubectl atrium login`. The program is one file, built by scripts/build.ts.
 */
import { homedir } from 'node:os';
import { basename } from 'node:path';
import { isatty } from 'node:tty';
import { Command } from 'commander';
import packageJson from '../package.json' with { type: 'json' };
import { addLoginCommands } from './commands.ts';
import { exitCodeOf, Interrupted, type Terminal } from './terminal.ts';

function terminal(): Terminal {
  const ended = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => ended.abort(new Interrupted(signal)));
  const { env: environment, stdout, stderr, platform } = process;
  const person = { isInteractive: isatty(0), userID: process.getuid?.(), homeDirectory: homedir() };
  return { environment, stdout, stderr, platform, ...person, signal: ended.signal };
}

const program = new Command('kubectl-atrium').description('Logs kubectl in at an OpenID issuer.').version(packageJson.version);
addLoginCommands(program, terminal);

// kubectl completes the arguments of its plugin by a link with this name.
const [node = '', called = '', ...words] = process.argv;
const isCompletion = basename(called).startsWith('kubectl_complete-');

// `await` is not available here: a file that is no module cannot have it outside of functions.
program.parseAsync([node, called, ...(isCompletion ? ['__complete'] : []), ...words]).catch((error: unknown) => {
  process.exit(exitCodeOf(error, process));
});
