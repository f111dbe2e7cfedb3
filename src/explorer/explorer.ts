/**
 * The access explorer: who may do something, and what a user, group or ServiceAccount may do, according to the watched roles and bindings.
 * Answers are about RBAC alone. The API server decides whose bindings and roles a caller sees.
 */
import { callerKey } from '@atrium/http/caller.ts';
import { reportRefusals } from '@atrium/http/limits/reports.ts';
import { KeyedSemaphore } from '@atrium/http/limits/semaphore.ts';
import type { Operation } from '@atrium/http/operation.ts';
import type { AccessQuestion } from '@atrium/kubernetes/rbac/rules.ts';
import type { Services } from '../services.ts';
import type { Asking, ExplorerNeeds } from './rights.ts';
import { explorerOperations, type InTurn } from './routes.ts';
import type { AccessSubjectList } from './schema.ts';
import { whoCan } from './who-can.ts';

/** Bounds of one caller, because an answer may need every role and binding of the cluster. */
const turns = { atOnce: 2, maxWaiting: 32, what: 'questions of this caller are waiting' };

/** Lists who may do something, within the bounds of the caller. @throws StatusError 403, 429, 503, 504 */
export type AskWhoCan = (question: AccessQuestion, page: { limit: number; page: number }, asking: Asking) => Promise<AccessSubjectList>;

interface Explorer {
  operations: Operation[];
  /** Undefined for an installation without the explorer. */
  whoCan: AskWhoCan | undefined;
}

export function createExplorer(services: Services, needs: ExplorerNeeds): Explorer {
  if (!services.config.features.explorer) return { operations: [], whoCan: undefined };
  const semaphore = new KeyedSemaphore(turns);
  reportRefusals(services.metrics, 'explorer', semaphore);
  const inTurn: InTurn = (caller, work, signal) => semaphore.run(callerKey(caller), work, signal);
  const context = { services, ...needs };
  const ask: AskWhoCan = (question, page, asking) => inTurn(asking.caller, () => whoCan(context, question, page, asking), asking.signal);
  return { operations: explorerOperations(context, inTurn, ask), whoCan: ask };
}
