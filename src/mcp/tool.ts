import type { Caller } from '@atrium/http/caller.ts';
import type { Context } from 'koa';
import type { z } from 'zod';

/** Object that a call is about, for the audit. */
export interface ToolObject {
  readonly apiGroup: string;
  readonly resource: string;
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
}

/** Call of a tool. */
export interface ToolCall {
  readonly ctx: Context;
  readonly caller: Caller;
  /** Aborted when the agent goes away, and at the deadline. */
  readonly signal: AbortSignal;
  /** Names an object of the call, before it is read. */
  about(object: ToolObject): void;
}

export interface ToolAnswer {
  /** Fixed words of ours, with numbers at most: never a text of the cluster or of the agent. */
  readonly note: string;
  readonly data: object;
}

interface ToolDefinition<Input extends z.ZodObject> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: Input;
  readonly isReadOnly: boolean;
  run(input: z.output<Input>, call: ToolCall): Promise<ToolAnswer>;
}

/** A tool with the type of its input folded away. */
export interface Tool extends Omit<ToolDefinition<z.ZodObject>, 'run'> {
  run(input: unknown, call: ToolCall): Promise<ToolAnswer>;
}

/** Declares a tool: name, words, input and work. The list of tools and the validation read this declaration. */
export const tool = <Input extends z.ZodObject>({ run, ...definition }: ToolDefinition<Input>): Tool => ({
  ...definition,
  // The calls run it only with what this very schema produced.
  run: run as Tool['run'],
});
