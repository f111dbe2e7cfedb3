import { type Command, InvalidArgumentError, Option } from 'commander';
import { type Parent, secondsOf } from './access-commands.ts';
import type { AuditOptions } from './audit.ts';
import type { CountOptions } from './audit-counts.ts';
import type { VerifyOptions } from './audit-verify.ts';
import type { RecordingsOptions } from './recordings.ts';
import type { StandingOptions } from './standing-access.ts';

export function addAuditCommand({ program, withConsole, sessionOf, terminal }: Parent): void {
  const audit = withConditions(
    withConsole(program.command('audit'))
      // An option after `verify` is one of `verify`.
      .enablePositionalOptions()
      .description('list who did what, the newest last; your own events without the right to list audits'),
  )
    .option('--limit <count>', 'maximum number of events (default: 100, and all as CSV)', countOf)
    .option('-f, --follow', 'continue, and print new events')
    .addOption(new Option('-o, --output <format>', 'output format (default: a table)').choices(['json', 'csv']))
    .action(async (options: AuditOptions, command: Command) => {
      const { printAudit } = await import('./audit.ts');
      await printAudit(options, await sessionOf(command));
    });

  withConditions(withConsole(audit.command('counts')))
    .description('count events by user, verb, object or hour; the largest counts first, and hours from the newest on')
    .addOption(
      new Option('--by <value>', 'value that the counted events share').choices(['actor', 'verb', 'object', 'hour']).default('actor'),
    )
    .addOption(new Option('-o, --output <format>', 'output format (default: a table)').choices(['json']))
    .action(async (options: CountOptions, command: Command) => {
      const { printCounts } = await import('./audit-counts.ts');
      await printCounts(options, await sessionOf(command));
    });

  withConsole(audit.command('standing-access'))
    .description('list who holds which role for good, and when it was last used through Atrium; the highest severity first')
    .option('-n, --namespace <namespace>', 'bindings of this namespace alone (default: all)')
    .option('--name <name>', 'bindings of this name, or of the UserBinding of this name')
    .option('--role <name>', 'bindings of this role')
    .option('--days <count>', 'days in which uses are looked for (default: 90)', countOf)
    .option('--all', 'list bindings of ServiceAccounts and of Kubernetes itself, too')
    .option('--limit <count>', 'maximum number of bindings (default: 100)', countOf)
    .addOption(new Option('-o, --output <format>', 'output format (default: a table)').choices(['json']))
    .action(async (options: StandingOptions, command: Command) => {
      const { printStanding } = await import('./standing-access.ts');
      await printStanding(options, await sessionOf(command));
    });

  withConsole(audit.command('recordings'))
    .description('list recordings of shells, the newest last; those of your own shells without the right to list recordings')
    .option('-n, --namespace <namespace>', 'namespace of the pod (default: all namespaces)')
    .option('--who <user>', 'user of the shell')
    .option('--pod <name>', 'name of the pod')
    .option('--since <duration>', 'greatest age of the begin, such as 30m, 2h or 7d', secondsOf)
    .option('--until <duration>', 'least age of the begin', secondsOf)
    .option('--limit <count>', 'maximum number of recordings (default: 100)', countOf)
    .addOption(new Option('-o, --output <format>', 'output format (default: a table)').choices(['json']))
    .action(async (options: RecordingsOptions, command: Command) => {
      const { printRecordings } = await import('./recordings.ts');
      await printRecordings(options, await sessionOf(command));
    });

  withConsole(audit.command('recording'))
    .argument('<id>', 'id of the recording')
    .description('print the recording of a shell as asciicast, for a file that "asciinema play" reads')
    .action(async (id: string, _options: unknown, command: Command) => {
      const { printRecording } = await import('./recordings.ts');
      await printRecording(id, await sessionOf(command));
    });

  withConsole(audit.command('verify'))
    .argument('[file]', 'saved answer of GET /auth/v1/audit/chain (default: the audit of the service)')
    .description('check that no event was changed, removed or added; exit code 1 for a gap, 2 if it could not be checked')
    .option('--checkpoints <file>', 'saved answer of GET /auth/v1/audit/checkpoints, by which the audit is verified, too')
    .option('--recordings', 'read all recordings of shells, too, and compare them with the events of their ends')
    .action(async (file: string | undefined, options: VerifyOptions, command: Command) => {
      const { verifyFile, verifyService } = await import('./audit-verify.ts');
      if (file === undefined) await verifyService(options, () => sessionOf(command));
      else await verifyFile(file, options, terminal());
    });
}

/** Adds the conditions of a question. */
const withConditions = (command: Command): Command =>
  command
    .option('-n, --namespace <namespace>', 'namespace (default: all namespaces)')
    .option('--who <user>', 'user who did it')
    .option('--user <user>', 'history of the user with this e-mail address or User record')
    .option('--group <group>', 'group of the user who did it, at that time')
    .option('--token <id>', 'access token with which it was done')
    .option('--session <name>', 'session in which it was done')
    .option('--verb <verb>', 'verb, such as delete')
    .option('--action <action>', 'action, such as restart, scale, cordon or grant')
    .option('--object <object>', 'resource and name, such as deploy/storefront, or the resource alone')
    .option('--subresource <name>', 'subresource, such as exec or scale')
    .option('--text <words>', 'words of the event, such as those of a command')
    .option('--since <duration>', 'age of the oldest event, such as 30m, 2h or 7d', secondsOf)
    .option('--until <duration>', 'age of the newest event (default: now)', secondsOf)
    .option('--failed', 'list only failures and refusals');

function countOf(text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new InvalidArgumentError('must be a number from 1 to 999999');
  return Number(text);
}
