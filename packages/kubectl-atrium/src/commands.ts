/**
 * `login`, `token`, `logout` and `completion`: kubectl's credential plugin, which does not depend on the service. `users`,
 * `who-can`, `access`, `reviews` and `audit` call the service.
 */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { addAccessCommands, type Parent } from './access-commands.ts';
import { addAuditCommand } from './audit-command.ts';
import { addCompletion } from './completion.ts';
import type { Wanted } from './kept-login.ts';
import { addReviewsCommand } from './reviews-command.ts';
import { isSafe, type LogInOptions, logInOf, waysOf, withLogInOptions } from './settings.ts';
import { CommandError, harmless, say, type Terminal } from './terminal.ts';
import type { ManifestOptions } from './user-manifest.ts';
import type { LinkRequest } from './users.ts';
import type { WhoCanOptions } from './who-can.ts';
import type { WorkloadOptions } from './workload.ts';

/** @param terminal called by a command that needs it */
export function addLoginCommands(program: Command, terminal: () => Terminal): void {
  const withContext = (command: Command) =>
    withLogInOptions(command).option('--context <name>', 'context of the kubeconfig that has the options, without --issuer');

  const withConsole = (command: Command) =>
    withContext(command).option('--console <url>', 'address of the console (default: the address of the embedded issuer)', addressOf);

  const withWorkload = (command: Command) =>
    command
      .option('--workload-token <file>', 'file with the token of a workload, which gets one of a machine user in place of a login')
      .option('--machine-user <name>', 'machine user (default: the one that trusts the token of the workload)');

  withWorkload(withConsole(program.command('login').description('log in, for kubectl on this machine'))).action(
    async (options: WorkloadOptions, command: Command) => {
      const own = terminal();
      if (options.workloadToken !== undefined) {
        const { workloadTokens } = await import('./workload.ts');
        await workloadTokens(options, own, { isNew: true });
        say(own, 'The console has accepted the token of the workload.');
        return;
      }
      const { logInAgain } = await import('./kept-login.ts');
      const { claimsOf } = await import('./tokens.ts');
      const { name } = claimsOf(await logInAgain(await wantedOf(command, own), own));
      say(own, `Logged in as ${harmless(name)}.`);
    },
  );

  const print = withLogInOptions(program.command('token').description('print a token for kubectl (client.authentication.k8s.io)'));
  withWorkload(print.option('--console <url>', 'address of the console, with --workload-token', addressOf)).action(
    async (options: WorkloadOptions, command: Command) => {
      const own = terminal();
      const { execCredential, execRequestOf } = await import('./exec-credential.ts');
      if (options.workloadToken !== undefined) {
        const { workloadTokens } = await import('./workload.ts');
        own.stdout.write(execCredential(execRequestOf(own), await workloadTokens(options, own)));
        return;
      }
      const { currentTokens } = await import('./kept-login.ts');
      const request = execRequestOf(own);
      own.stdout.write(execCredential(request, await currentTokens(await wantedOf(command, own), request, own)));
    },
  );

  withContext(program.command('logout').description('end a login on this machine and at the issuer'))
    .option('--all', 'end every login on this machine')
    .action(async ({ all }: { all?: true }, command: Command) => {
      const own = terminal();
      const { logOut } = await import('./logout.ts');
      const count = await logOut(all ? undefined : (await wantedOf(command, own)).logIn, own);
      say(own, count === 0 ? 'No login was found.' : 'Logged out.');
    });

  const users = program.command('users').description('commands for administrators of users');
  withContext(users.command('create'))
    .argument('<email>', 'e-mail address or login name', loginName)
    .description('create a user of the embedded issuer with an invitation link, or print the manifest of any user')
    .option('--name <name>', 'display name (default: the e-mail address)')
    .option('--dry-run', 'print the User for kubectl apply or GitOps, and call no service')
    .addOption(new Option('-o, --output <format>', 'format of the printed User').choices(['yaml', 'json']).default('yaml'))
    .option('--external', 'print a user of another issuer, without a password')
    .option('--mail', 'mail the link to the user, and do not print it')
    .action(async (email: string, { name, dryRun, mail, ...manifest }: CreateOptions, command: Command) => {
      const own = terminal();
      const user = { email, ...(name !== undefined && { username: name }) };
      const { userManifest } = await import('./user-manifest.ts');
      if (dryRun) {
        own.stdout.write(userManifest(user, manifest));
        return;
      }
      if (manifest.external) throw new CommandError('--external is for --dry-run: the first login of such a user makes the record');
      const { createUser } = await import('./users.ts');
      await createUser(user, mail ? { mail } : {}, await wantedOf(command, own), own);
    });

  withContext(users.command('link <user>'))
    .description('create a one-time link for a user of the embedded issuer, by e-mail address or name of the record')
    .addOption(
      new Option('--kind <kind>', 'invite sets the first password, password replaces a forgotten one, enrol sets up a second factor')
        .choices(['password', 'invite', 'enrol'])
        .default('password'),
    )
    .addOption(new Option('--seconds <seconds>', 'lifetime of the link in seconds (default: the maximum)').argParser(secondsOfLink))
    .option('--mail', 'mail the link to the user, and do not print it')
    .action(async (user: string, { kind, seconds, mail }: LinkRequest, command: Command) => {
      const own = terminal();
      const { linkUser } = await import('./users.ts');
      const request = { kind, ...(seconds !== undefined && { seconds }), ...(mail && { mail }) };
      await linkUser(user, request, await wantedOf(command, own), own);
    });

  withContext(users.command('reset-factors <user>'))
    .description('remove all second factors of a user who has lost them, and end the sessions, by e-mail address or name of the record')
    .action(async (user: string, _options: unknown, command: Command) => {
      const own = terminal();
      const { resetFactors } = await import('./users.ts');
      await resetFactors(user, await wantedOf(command, own), own);
    });

  withConsole(program.command('who-can'))
    .argument('<verb>', 'get, list, create, …')
    .argument('<resource>', 'plural name with its group, such as deployments.apps or pods/eviction, or a path such as /metrics')
    .description('list the users, groups and ServiceAccounts that may perform an action')
    .option('-n, --namespace <namespace>', 'namespace (default: all namespaces)')
    .option('--name <name>', 'name of the object (default: any)')
    .addOption(new Option('-o, --output <format>', 'output format (default: a table)').choices(['json']))
    .action(async (verb: string, resource: string, options: WhoCanOptions, command: Command) => {
      const own = terminal();
      const { whoCan } = await import('./who-can.ts');
      await whoCan(verb, resource, options, await wantedOf(command, own), own);
    });

  const parent: Parent = {
    program,
    withConsole,
    terminal,
    async sessionOf(command) {
      const own = terminal();
      return { wanted: await wantedOf(command, own), terminal: own };
    },
  };
  addAccessCommands(parent);
  addReviewsCommand(parent);
  addAuditCommand(parent);

  addCompletion(program, terminal);
}

interface CreateOptions extends ManifestOptions {
  name?: string;
  dryRun?: true;
  mail?: true;
}

/** Refuses values that the custom resource definition would refuse. */
function loginName(text: string): string {
  if (text.length > 253 || !/^[\w.!#$%&'*+=?^{|}~-]+(@[A-Za-z0-9.-]+)?$/.test(text))
    throw new InvalidArgumentError('must be an ASCII e-mail address or login name with one @ at most (domains in Unicode as xn--…)');
  return text;
}

function addressOf(text: string): string {
  if (!isSafe(text)) throw new InvalidArgumentError('must be an https URL; plain http is for this machine only');
  return text;
}

/** The service checks the bounds. */
function secondsOfLink(text: string): number {
  if (!/^[1-9]\d{0,6}$/.test(text)) throw new InvalidArgumentError('must be a number of seconds');
  return Number(text);
}

/** Returns the settings of the command line. If it names no issuer, missing settings are those of the kubeconfig. */
async function wantedOf(command: Command, terminal: Terminal): Promise<Wanted> {
  const { context, console: address, ...given } = command.opts<LogInOptions & { context?: string; console?: string }>();
  const service = address !== undefined && { service: address };
  if (given.issuer !== undefined) return { logIn: await logInOf(given), ways: waysOf(given), ...service };
  const { optionsOfKubeconfig } = await import('./kubeconfig-entry.ts');
  const said = Object.fromEntries(Object.entries(given).filter(([name]) => command.getOptionValueSource(name) === 'cli'));
  const options: LogInOptions = { ...(await optionsOfKubeconfig(context, terminal)), ...said };
  return { logIn: await logInOf(options), ways: waysOf(options), ...service };
}
