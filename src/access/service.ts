import { z } from 'zod';
import { mapLimit } from '../api/map-limit.ts';
import { invalid, StatusError, serviceUnavailable } from '../api/status.ts';
import type { Caller } from '../http/operation.ts';
import type { AccessReviews, AccessStatus } from '../kubernetes/access.ts';
import type { KubernetesClient } from '../kubernetes/kubernetes-client.ts';
import { UpstreamError } from '../kubernetes/upstream-error.ts';
import type { Services } from '../services.ts';
import { Explainer } from './explanation.ts';
import {
  type AnsweredStatus,
  accessStatus,
  type Review,
  type ReviewList,
  type ReviewSpec,
  type RulesReview,
  rulesStatus,
} from './schema.ts';

const maxReviews = 100;
/** Of one batch at a time, so that a batch does not keep other callers from the API server. */
const maxParallel = 8;

const kubernetesVersion = 'authorization.k8s.io/v1';
const resources = '/apis/authorization.k8s.io/v1';

/** Who asks, and how. */
export interface Asking {
  caller: Caller;
  signal: AbortSignal;
  /** Whether each status is to say why. */
  isExplained: boolean;
}

/** An answer in a list of answers: the status, or the failure. */
type Outcome = { status: AnsweredStatus } | { failure: StatusError };

/** What callers may do, asked with their own identity. */
export class AccessService {
  readonly #apiServer: KubernetesClient;
  readonly #access: AccessReviews;
  readonly #explainer: Explainer | undefined;
  /** Of kept answers. */
  readonly #texts = new WeakMap<AccessStatus, WeakMap<Review, string>>();

  constructor({ apiServer, access, rbac, config }: Services) {
    this.#apiServer = apiServer;
    this.#access = access;
    this.#explainer = config.features.explain ? new Explainer(access, rbac) : undefined;
  }

  /**
   * The text that answers a review, where the answer is kept; undefined where the API server has to be asked. It belongs to the kept
   * answer, and goes with it: when a role or binding changes, and when its time is over.
   */
  keptText(review: Review, { caller, isExplained }: Omit<Asking, 'signal'>): string | undefined {
    const { apiVersion, metadata, spec } = review;
    if (isExplained || !isEmpty(metadata)) return undefined;
    const status = this.#access.kept(caller, sentOn(spec));
    if (status === undefined) return undefined;
    const texts = this.#texts.get(status) ?? new WeakMap<Review, string>();
    this.#texts.set(status, texts);
    const text = texts.get(review) ?? JSON.stringify(answerTo(apiVersion, spec, status));
    // Of what cannot change.
    if (Object.isFrozen(review)) texts.set(review, text);
    return text;
  }

  /** @throws StatusError 401, 403, 422 in the API server's words, 503, 504 */
  async review({ apiVersion, metadata, spec }: Review, asking: Asking): Promise<object> {
    const { caller, signal } = asking;
    const status = isEmpty(metadata)
      ? await this.#status(spec, asking)
      : await this.#reviewWithMetadata({ metadata, spec: sentOn(spec) }, caller, signal);
    return answerTo(apiVersion, spec, status);
  }

  /** @throws StatusError 422 for none or too many, 401, 429; otherwise only if not one of them could be asked */
  async reviewAll({ apiVersion, items }: ReviewList, asking: Asking): Promise<object> {
    checkCount(items.length);
    // The first that cannot be asked ends what is under way.
    const failed = new AbortController();
    const signal = AbortSignal.any([asking.signal, failed.signal]);
    const outcomes = await mapLimit(maxParallel, items, ({ spec }) => this.#outcome(spec, { ...asking, signal })).catch(
      (error: unknown) => {
        failed.abort();
        throw error;
      },
    );
    const failures = outcomes.flatMap((outcome) => ('failure' in outcome ? [outcome.failure] : []));
    const [first] = failures;
    if (first !== undefined && failures.length === items.length && failures.every((failure) => !isAboutReview(failure))) throw first;
    const answered = outcomes.map((outcome, index) => ({ spec: shownSpec(items[index]?.spec), status: statusOf(outcome) }));
    return { apiVersion, kind: 'SelfSubjectAccessReviewList', metadata: {}, items: answered };
  }

  /** @throws StatusError 400, 401, 403 in the API server's words, 503, 504 */
  async reviewRules({ apiVersion, spec }: RulesReview, caller: Caller, signal: AbortSignal): Promise<object> {
    const kind = 'SelfSubjectRulesReview';
    const answer = await this.#apiServer.asCaller(caller).request({
      call: 'create selfsubjectrulesreviews',
      method: 'POST',
      path: `${resources}/selfsubjectrulesreviews`,
      body: { apiVersion: kubernetesVersion, kind, spec: spec ?? {} },
      isRepeatable: true,
      signal,
    });
    return { apiVersion, kind, metadata: {}, spec: spec ?? {}, status: parseAnswer(z.object({ status: rulesStatus }), answer).status };
  }

  async #status(spec: ReviewSpec, { caller, signal, isExplained }: Asking): Promise<AnsweredStatus> {
    const status = await this.#access.review(caller, sentOn(spec), signal);
    if (!isExplained || this.#explainer === undefined) return status;
    return { ...status, explanation: await this.#explainer.explain({ spec, status, caller, signal }) };
  }

  async #outcome(spec: ReviewSpec, asking: Asking): Promise<Outcome> {
    try {
      return { status: await this.#status(spec, asking) };
    } catch (failure) {
      if (failure instanceof StatusError && failure.status.code !== 401 && !isOurRefusal(failure)) return { failure };
      throw failure;
    }
  }

  /** The API server refuses it, and should say so itself: what it takes for empty is its own business. */
  async #reviewWithMetadata(review: object, caller: Caller, signal: AbortSignal): Promise<AccessStatus> {
    const answer = await this.#apiServer.asCaller(caller).request({
      call: 'create selfsubjectaccessreviews',
      method: 'POST',
      path: `${resources}/selfsubjectaccessreviews`,
      body: { apiVersion: kubernetesVersion, kind: 'SelfSubjectAccessReview', ...review },
      isRepeatable: true,
      signal,
    });
    return parseAnswer(z.object({ status: accessStatus }), answer).status;
  }
}

const sentOn = (spec: ReviewSpec) => spec ?? nothing;

const nothing = {};

/** A copy without members that are null: the API server answers with none. */
const shownSpec = (spec: ReviewSpec): unknown =>
  JSON.parse(JSON.stringify(sentOn(spec), (_, value: unknown) => (value === null ? undefined : value)));

const isEmpty = (metadata: Review['metadata']): boolean => Object.keys(metadata ?? nothing).length === 0;

const answerTo = (apiVersion: string, spec: ReviewSpec, status: AnsweredStatus) => ({
  apiVersion,
  kind: 'SelfSubjectAccessReview',
  metadata: {},
  spec: shownSpec(spec),
  status,
});

/** @throws StatusError 503 for an answer that says nothing */
function parseAnswer<S extends z.ZodType>(schema: S, answer: unknown): z.output<S> {
  const result = schema.safeParse(answer);
  if (!result.success) throw serviceUnavailable('kubernetes', { cause: result.error });
  return result.data;
}

function checkCount(count: number): void {
  if (count >= 1 && count <= maxReviews) return;
  const reason = count === 0 ? 'FieldValueRequired' : 'FieldValueTooMany';
  const message = count === 0 ? 'Required value: must have at least 1 item' : `Too many: ${count}: must have at most ${maxReviews} items`;
  throw invalid({ group: 'authorization.orchestrator.io', kind: 'SelfSubjectAccessReviewList', name: '' }, [
    { reason, message, field: 'items' },
  ]);
}

/** Whether it was this review that was wrong, and not the asking. */
const isAboutReview = ({ status: { code } }: StatusError) => code === 400 || code === 422;

/** Too many reviews of this caller are waiting: the batch can come again as a whole, and finds what was answered. */
const isOurRefusal = (error: unknown): boolean =>
  error instanceof StatusError && !(error instanceof UpstreamError) && error.status.code === 429;

/** What could not be asked is not allowed. */
const statusOf = (outcome: Outcome): AnsweredStatus =>
  'status' in outcome ? outcome.status : { allowed: false, evaluationError: outcome.failure.message };
