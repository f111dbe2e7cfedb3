import { type Caller, callerKey } from '@atrium/http/caller.ts';
import { badInput } from '@atrium/http/input.ts';
import { RateLimit } from '@atrium/http/limits/rate-limit.ts';
import { reportRefusals } from '@atrium/http/limits/reports.ts';
import { KeyedSemaphore } from '@atrium/http/limits/semaphore.ts';
import { internalError, type Status, tooManyRequests } from '@atrium/objects/status.ts';
import { validate } from '@atrium/objects/validation.ts';
import type { CallToolResult } from '@modelcontextprotocol/server';
import { auditCaller } from '../audit/audit.ts';
import type { Services } from '../services.ts';
import { statusOf, toolFailure, toolResult } from './answers.ts';
import type { Tool, ToolCall, ToolObject } from './tool.ts';

/** Bounds of one user, with all agents. */
const turns = { atOnce: 4, maxWaiting: 16, what: 'calls of your agents are waiting' };
/** A model that reads its answers makes a call in some seconds. */
const callsPerMinute = 240;
const maxObjects = 16;

/** Runs calls of tools: bounds, validation, answer and audit event are the same for all tools. */
export class ToolCalls {
  readonly #services: Services;
  readonly #turns = new KeyedSemaphore(turns);
  readonly #rate: RateLimit;

  constructor(services: Services) {
    this.#services = services;
    this.#rate = new RateLimit({ limit: callsPerMinute, clock: services.clock });
    reportRefusals(services.metrics, 'agents', this.#turns);
  }

  /** Returns the answer of a tool, or its failure. @throws the signal's reason */
  async run(tool: Tool, input: unknown, { ctx, caller, signal }: Omit<ToolCall, 'about'>): Promise<CallToolResult> {
    const objects: ToolObject[] = [];
    const about = (object: ToolObject) => {
      if (objects.length < maxObjects) objects.push(object);
    };
    const call = { ctx, caller, signal, about };
    try {
      const answer = toolResult(await this.#inTurn(tool, input, call));
      this.#record(tool, call, objects, undefined);
      return answer;
    } catch (error) {
      const status = this.#statusOf(error, tool, call);
      this.#record(tool, call, objects, status);
      signal.throwIfAborted();
      return toolFailure(status);
    }
  }

  #inTurn(tool: Tool, input: unknown, call: ToolCall) {
    const { caller, signal } = call;
    const key = callerKey(caller);
    const exceeded = this.#rate.take(key);
    if (exceeded) throw tooManyRequests('too many calls of your agents, try again later', exceeded.retryAfterSeconds);
    const result = validate(tool.input, input ?? {});
    if (!result.success) throw badInput(result.violations);
    return this.#turns.run(key, () => tool.run(result.data, call), signal);
  }

  /** Logs a defect, whose text the agent does not see. */
  #statusOf(error: unknown, tool: Tool, { ctx, signal }: ToolCall): Status {
    const status = statusOf(error);
    if (status === undefined && !signal.aborted)
      this.#services.log.error({ requestId: ctx.state.requestId, tool: tool.name, err: error }, 'call of an agent failed');
    return status ?? internalError().status;
  }

  #record(tool: Tool, { ctx, caller }: ToolCall, objects: readonly ToolObject[], failure: Status | undefined): void {
    const code = failure?.code ?? 200;
    this.#services.audit.record({
      audit: 'AgentCalledTool',
      ...auditCaller(ctx, caller),
      outcome: failure === undefined ? 'success' : 'failure',
      code,
      ...(failure?.reason !== undefined && { reason: failure.details?.causes?.[0]?.reason ?? failure.reason }),
      agent: { ...agentOf(caller), tool: tool.name, objects },
    });
  }
}

const agentOf = ({ agent }: Caller) => ({ client: agent?.client ?? '', name: agent?.name ?? '', host: agent?.host ?? '' });
