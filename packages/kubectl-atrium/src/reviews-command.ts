/** `reviews`: commands for owners of bindings that are reviewed. */
import { type Command, Option } from 'commander';
import type { OutputOptions } from './access.ts';
import { type Parent, secondsOf } from './access-commands.ts';
import type { AnswerOptions } from './reviews.ts';

const answers = [
  ['keep', 'Keep', 'keep a binding, with your right to change it'],
  ['end', 'End', 'end a binding: it is deleted with your rights'],
] as const;

export function addReviewsCommand({ program, withConsole, sessionOf }: Parent): void {
  const reviews = program.command('reviews').description('reviews of standing bindings: list them, and keep, shorten or end each binding');
  const withOutput = (command: Command) =>
    withConsole(command.addOption(new Option('-o, --output <format>', 'output format (default: a table)').choices(['json'])));
  const answer = (name: string, description: string) =>
    withOutput(reviews.command(`${name} <review> <binding>`).description(description)).option(
      '--if-version <version>',
      'answer only about this version of the binding (default: the binding as it is now)',
    );

  withOutput(reviews.command('list').description('list the reviews of places whose bindings you may list')).action(
    async (options: OutputOptions, command: Command) => {
      const { listReviews } = await import('./reviews.ts');
      await listReviews(options, await sessionOf(command));
    },
  );

  withOutput(reviews.command('bindings <review>').description('list the bindings of a review, with the answer about each')).action(
    async (review: string, options: OutputOptions, command: Command) => {
      const { listReviewed } = await import('./reviews.ts');
      await listReviewed(review, options, await sessionOf(command));
    },
  );

  for (const [name, decision, description] of answers)
    answer(name, description).action(async (review: string, binding: string, options: AnswerOptions, command: Command) => {
      const { answerReview } = await import('./reviews.ts');
      await answerReview({ review, binding, decision }, options, await sessionOf(command));
    });

  answer('shorten', 'give a binding an end: the one of its UserBinding, in all of its namespaces')
    .requiredOption('--for <duration>', 'time until the end, such as 2h or 30d, a year at most', secondsOf)
    .action(async (review: string, binding: string, options: AnswerOptions & { for: number }, command: Command) => {
      const { answerReview } = await import('./reviews.ts');
      await answerReview({ review, binding, decision: 'Shorten', seconds: options.for }, options, await sessionOf(command));
    });
}
