/** `access`: commands for users who ask for a role for a while, and for approvers. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { ListOptions, OutputOptions, RequestOptions, Session } from './access.ts';
import type { Terminal } from './terminal.ts';

export interface Parent {
  readonly program: Command;
  /** Adds the options of a login and of the console. */
  withConsole(command: Command): Command;
  sessionOf(command: Command): Promise<Session>;
  /** Called by a command that calls no service. */
  terminal(): Terminal;
}

type Commented = OutputOptions & { comment?: string };

const factors: Readonly<Record<string, number>> = { m: 60, h: 3600, d: 86_400 };

export function addAccessCommands({ program, withConsole, sessionOf }: Parent): void {
  const access = program.command('access').description('temporary access: request roles, decide on requests, and end access');
  const withOutput = (command: Command) =>
    withConsole(command.addOption(new Option('-o, --output <format>', 'output format (default: a table)').choices(['json'])));

  withOutput(access.command('policies').description('list the policies that apply to you')).action(
    async (options: OutputOptions, command: Command) => {
      const { listPolicies } = await import('./access.ts');
      await listPolicies(options, await sessionOf(command));
    },
  );

  withOutput(access.command('request <role>').description('request a role; exit code 3 while the request waits for approval'))
    .option('-n, --namespace <names>', 'namespaces, separated by commas (default: the platform)', (text) => text.split(','))
    .requiredOption('--for <duration>', 'duration, such as 30m, 2h or 1d', secondsOf)
    .option('--reason <reason>', 'reason for the approvers')
    .option('--policy <name>', 'policy, if several offer the role')
    .option('--ticket <ticket>', 'ticket, if the policy requires one')
    .option('--break-glass', 'get the role at once, without approvals; approvers review it')
    .option('--wait', 'wait for the decision')
    .action(async (role: string, options: RequestOptions, command: Command) => {
      const { requestAccess } = await import('./access.ts');
      await requestAccess(role, options, await sessionOf(command));
    });

  withOutput(access.command('list').description('list requests: yours, and those that you may decide on'))
    .option('--inbox', 'list only requests that wait for you')
    .option('-w, --watch', 'continue, and print requests that change')
    .action(async (options: ListOptions, command: Command) => {
      const { listRequests } = await import('./access.ts');
      await listRequests(options, await sessionOf(command));
    });

  for (const [verb, approve, meaning] of [
    ['approve', true, 'approve a request; exit code 3 if further approvals are needed'],
    ['deny', false, 'deny a request'],
  ] as const)
    withOutput(access.command(`${verb} <request>`).description(meaning))
      .option('--comment <comment>', 'comment for the requester')
      .action(async (name: string, options: Commented, command: Command) => {
        const { decideRequest } = await import('./access.ts');
        await decideRequest(name, { ...options, approve }, await sessionOf(command));
      });

  withOutput(access.command('end <request>').description('withdraw a request, or end its access')).action(
    async (name: string, options: OutputOptions, command: Command) => {
      const { endRequest } = await import('./access.ts');
      await endRequest(name, options, await sessionOf(command));
    },
  );

  withOutput(access.command('review <request>').description('review access that was taken by break-glass'))
    .option('--comment <comment>', 'result of the review')
    .action(async (name: string, options: Commented, command: Command) => {
      const { reviewRequest } = await import('./access.ts');
      await reviewRequest(name, options, await sessionOf(command));
    });
}

/** The service checks the bounds. */
export function secondsOf(text: string): number {
  const [, count, unit = ''] = /^([1-9]\d{0,5})([mhd])$/.exec(text) ?? [];
  if (count === undefined) throw new InvalidArgumentError('must be a duration such as 30m, 2h or 1d');
  return Number(count) * (factors[unit] ?? 0);
}
