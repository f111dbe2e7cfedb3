/** `login`, `token`, `logout` and `completion`: kubectl's credential plugin. They know nothing of the service. */
import type { Command } from 'commander';
import { addCompletion } from './completion.ts';
import type { Wanted } from './kept-login.ts';
import { type LogInOptions, logInOf, waysOf, withLogInOptions } from './settings.ts';
import { harmless, say, type Terminal } from './terminal.ts';

/** @param terminal called by a command that needs it */
export function addLoginCommands(program: Command, terminal: () => Terminal): void {
  const withContext = (command: Command) =>
    withLogInOptions(command).option('--context <name>', 'context of the kubeconfig to take the options from, without --issuer');

  withContext(program.command('login').description('log in, for kubectl on this machine')).action(
    async (_options: unknown, command: Command) => {
      const own = terminal();
      const { loginAgain } = await import('./kept-login.ts');
      const { claimsOf } = await import('./tokens.ts');
      const { name } = claimsOf(await loginAgain(await wantedOf(command, own), own));
      say(own, `Logged in as ${harmless(name)}.`);
    },
  );

  withLogInOptions(program.command('token').description('print a token, as kubectl asks for it (client.authentication.k8s.io)')).action(
    async (_options: unknown, command: Command) => {
      const own = terminal();
      const { execCredential, execRequestOf } = await import('./exec-credential.ts');
      const { currentTokens } = await import('./kept-login.ts');
      const request = execRequestOf(own);
      own.stdout.write(execCredential(request, await currentTokens(await wantedOf(command, own), request, own)));
    },
  );

  withContext(program.command('logout').description('forget a login and end it at the issuer'))
    .option('--all', 'every login on this machine')
    .action(async ({ all }: { all?: true }, command: Command) => {
      const own = terminal();
      const { logOut } = await import('./logout.ts');
      const count = await logOut(all ? undefined : (await wantedOf(command, own)).logIn, own);
      say(own, count === 0 ? 'There was no login.' : 'Logged out.');
    });

  addCompletion(program, terminal);
}

/** Of the command line; for what it leaves out, of the kubeconfig if it names no issuer. */
async function wantedOf(command: Command, terminal: Terminal): Promise<Wanted> {
  const { context, ...given } = command.opts<LogInOptions & { context?: string }>();
  if (given.issuer !== undefined) return { logIn: await logInOf(given), ways: waysOf(given) };
  const { optionsOfKubeconfig } = await import('./kubeconfig-entry.ts');
  const said = Object.fromEntries(Object.entries(given).filter(([name]) => command.getOptionValueSource(name) === 'cli'));
  const options: LogInOptions = { ...(await optionsOfKubeconfig(context, terminal)), ...said };
  return { logIn: await logInOf(options), ways: waysOf(options) };
}
