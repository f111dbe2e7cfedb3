import { type Command, InvalidArgumentError, Option } from 'commander';
import { type Parent, secondsOf } from './access-commands.ts';
import type { AuditOptions } from './audit.ts';

export function addAuditCommand({ program, withConsole, sessionOf }: Parent): void {
  withConsole(program.command('audit'))
    .description('list who did what, the newest last; your own events without the right to list audits')
    .option('-n, --namespace <namespace>', 'namespace (default: all namespaces)')
    .option('--who <user>', 'user who did it')
    .option('--verb <verb>', 'verb, such as delete')
    .option('--object <object>', 'resource and name, such as deploy/storefront, or the resource alone')
    .option('--since <duration>', 'age of the oldest event, such as 30m, 2h or 7d', secondsOf)
    .option('--failed', 'list only failures and refusals')
    .option('--limit <count>', 'maximum number of events', countOf, 100)
    .option('-f, --follow', 'continue, and print new events')
    .addOption(new Option('-o, --output <format>', 'output format (default: a table)').choices(['json']))
    .action(async (options: AuditOptions, command: Command) => {
      const { printAudit } = await import('./audit.ts');
      await printAudit(options, await sessionOf(command));
    });
}

function countOf(text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new InvalidArgumentError('must be a number from 1 to 999999');
  return Number(text);
}
