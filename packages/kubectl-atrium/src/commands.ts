/**
 * `login`, `token`, `logout` and `completion`: kubectl's credential plugin, which does not depend on the service. `users` calls the
 * service.
 */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { addCompletion } from './completion.ts';
import type { Wanted } from './kept-login.ts';
import { type LogInOptions, logInOf, waysOf, withLogInOptions } from './settings.ts';
import { harmless, say, type Terminal } from './terminal.ts';
import type { LinkRequest } from './users.ts';

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

  const users = program.command('users').description('for administrators of users');
  withContext(users.command('link <user>'))
    .description('make a one-time link for a user of the embedded issuer: by e-mail address, or name of the record')
    .addOption(
      new Option('--kind <kind>', 'invite is for a user who has not logged in yet, enrol for a second factor')
        .choices(['password', 'invite', 'enrol'])
        .default('password'),
    )
    .addOption(new Option('--seconds <seconds>', 'how long it works (default: as long as the kind allows)').argParser(secondsOfLink))
    .option('--mail', 'mail it to the user, and do not show it')
    .action(async (user: string, { kind, seconds, mail }: LinkRequest, command: Command) => {
      const own = terminal();
      const { linkUser } = await import('./users.ts');
      const request = { kind, ...(seconds !== undefined && { seconds }), ...(mail && { mail }) };
      await linkUser(user, request, await wantedOf(command, own), own);
    });

  withContext(users.command('reset-factors <user>'))
    .description('take all second factors from a user who has lost them, and end the sessions: by e-mail address, or name of the record')
    .action(async (user: string, _options: unknown, command: Command) => {
      const own = terminal();
      const { resetFactors } = await import('./users.ts');
      await resetFactors(user, await wantedOf(command, own), own);
    });

  addCompletion(program, terminal);
}

/** The service checks the bounds. */
function secondsOfLink(text: string): number {
  if (!/^[1-9]\d{0,6}$/.test(text)) throw new InvalidArgumentError('must be a number of seconds');
  return Number(text);
}

/** Returns the settings of the command line. If it names no issuer, missing settings are those of the kubeconfig. */
async function wantedOf(command: Command, terminal: Terminal): Promise<Wanted> {
  const { context, ...given } = command.opts<LogInOptions & { context?: string }>();
  if (given.issuer !== undefined) return { logIn: await logInOf(given), ways: waysOf(given) };
  const { optionsOfKubeconfig } = await import('./kubeconfig-entry.ts');
  const said = Object.fromEntries(Object.entries(given).filter(([name]) => command.getOptionValueSource(name) === 'cli'));
  const options: LogInOptions = { ...(await optionsOfKubeconfig(context, terminal)), ...said };
  return { logIn: await logInOf(options), ways: waysOf(options) };
}
