import { type Caller, callerKey } from '@atrium/http/caller.ts';
import { atMost } from '@atrium/http/limits/bounded-cache.ts';
import type { Context } from 'koa';
import { LRUCache } from 'lru-cache';
import { type Audit, auditCaller } from './audit.ts';

/** Interval of the events about one question: the page Activity asks it again each ten seconds. */
const intervalMs = 300_000;
const maxQuestions = 1_000;

/**
 * Returns a function that records who asked about events of others, and returns the answer. A question is the same for each of its pages
 * and counts, and for any period. Questions about own events make no event.
 */
export function readRecorder({ audit, clock }: { audit: Audit; clock: () => number }) {
  const recorded = new LRUCache<string, true>({ ...atMost(maxQuestions), ttl: intervalMs, ttlResolution: 0, perf: { now: clock } });
  return <Answer extends { scope: 'All' | 'Own' }>(
    { ctx, caller }: { ctx: Context; caller: Caller },
    { from: _from, to: _to, ...asked }: Asked,
    answer: Answer,
  ): Answer => {
    const question = questionText(asked);
    const key = `${callerKey(caller)}\n${question}`;
    if (answer.scope === 'Own' || recorded.has(key)) return answer;
    recorded.set(key, true);
    audit.record({ ...auditCaller(ctx, caller), audit: 'AuditRead', outcome: 'success', code: 200, question });
    return answer;
  };
}

export type ReadRecorder = ReturnType<typeof readRecorder>;

type Asked = Readonly<Record<string, string | number | undefined>>;

/** Parameters of a question that are no conditions. */
const notConditions = ['by', 'continue', 'format', 'limit'];

/** Returns the conditions of a question as a query, in the order of their names. */
export function questionText(asked: Asked): string {
  const given = Object.entries(asked).flatMap(([name, value]): [string, string][] =>
    value === undefined || notConditions.includes(name) ? [] : [[name, String(value)]],
  );
  return new URLSearchParams(given.toSorted(([one], [other]) => (one < other ? -1 : 1))).toString();
}
