import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { Command } from 'commander';
import * as z from 'zod/mini';
import { type LogInOptions, withLogInOptions } from './settings.ts';
import { CommandError, type Terminal } from './terminal.ts';

const entry = z.object({ user: z.object({ exec: z.object({ args: z.tuple([z.literal('token')], z.string()) }) }) });
const view = z.object({ users: z.tuple([entry], z.unknown()) });

/**
 * Returns the options that the user's kubeconfig has for this program, so that they need not be typed. kubectl itself reports the files and
 * the context in use.
 *
 * @throws CommandError if it has none
 */
export async function optionsOfKubeconfig(context: string | undefined, { environment, signal }: Terminal): Promise<LogInOptions> {
  const args = ['config', 'view', '--minify', '--output=json', ...(context === undefined ? [] : [`--context=${context}`])];
  const run = promisify(execFile);
  const { stdout } = await run('kubectl', args, { env: { ...environment }, timeout: 10_000, signal }).catch(() => ({ stdout: 'null' }));
  const found = view.safeParse(JSON.parse(stdout));
  if (!found.success)
    throw new CommandError('the current context of the kubeconfig does not log in by this program: name the issuer by --issuer');
  const [, ...given] = found.data.users[0].user.exec.args;
  return withLogInOptions(new Command('token').exitOverride().configureOutput({ writeErr: () => undefined }))
    .parse(given, { from: 'user' })
    .opts<LogInOptions>();
}
