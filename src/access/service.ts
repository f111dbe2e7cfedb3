import type { Caller } from '@atrium/http/caller.ts';
import { mapLimit } from '@atrium/http/limits/semaphore.ts';
import type { AccessReviews, AccessStatus } from '@atrium/kubernetes/access.ts';
import type { KubernetesClient } from '@atrium/kubernetes/kubernetes-client.ts';
import { pageAsOutage, UpstreamError } from '@atrium/kubernetes/upstream-error.ts';
import { invalid, StatusError, serviceUnavailable } from '@atrium/objects/status.ts';
import { z } from 'zod';
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
/** Concurrent reviews of a batch, so that other callers reach the API server. */
const maxParallel = 8;

const kubernetesVersion = 'authorization.k8s.io/v1';
const resources = '/apis/authorization.k8s.io/v1';

/** Context of a review. */
export interface Asking {
  caller: Caller;
  signal: AbortSignal;
  /** True if each status gets an explanation. */
  isExplained: boolean;
}

/** A result in a batch: the status, or the failure. */
type Outcome = { status: AnsweredStatus } | { failure: StatusError };

/** Reviews the rights of callers with their own identity. */
export class AccessService {
  readonly #apiServer: KubernetesClient;
  readonly #access: AccessReviews;
  readonly #explainer: Explainer | undefined;
  /** Texts of cached answers. */
  readonly #texts = new WeakMap<AccessStatus, WeakMap<Review, string>>();

  constructor({ apiServer, access, rbac, config }: Services) {
    this.#apiServer = apiServer;
    this.#access = access;
    this.#explainer = config.features.explain ? new Explainer(access, rbac) : undefined;
  }

  /**
   * Returns the text for a cached answer; undefined if the API server has to be asked. The text is dropped with the answer: after a change
   * of a role or binding, and at its expiry.
   */
  keptText(review: Review, { caller, isExplained }: Omit<Asking, 'signal'>): string | undefined {
    const { apiVersion, metadata, spec } = review;
    if (isExplained || !isEmpty(metadata)) return undefined;
    const status = this.#access.kept(caller, sentOn(spec));
    if (status === undefined) return undefined;
    const texts = this.#texts.get(status) ?? new WeakMap<Review, string>();
    this.#texts.set(status, texts);
    const text = texts.get(review) ?? JSON.stringify(answerTo(apiVersion, spec, status));
    // Only frozen reviews cannot change.
    if (Object.isFrozen(review)) texts.set(review, text);
    return text;
  }

  /** @throws StatusError 401, 403, 422 with the API server's message, 503, 504 */
  async review({ apiVersion, metadata, spec }: Review, asking: Asking): Promise<object> {
    const { caller, signal } = asking;
    const status = isEmpty(metadata)
      ? await this.status(spec, asking)
      : await this.#reviewWithMetadata({ metadata, spec: sentOn(spec) }, caller, signal);
    return answerTo(apiVersion, spec, status);
  }

  /**
   * @throws StatusError 422 for an invalid number of reviews, 401, 429; other errors only if every review fails, none because of its spec
   */
  async reviewAll({ apiVersion, items }: ReviewList, asking: Asking): Promise<object> {
    checkCount(items.length);
    // The first fatal failure aborts the other reviews.
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

  /** @throws StatusError 400, 401, 403 with the API server's message, 503, 504 */
  async reviewRules({ apiVersion, spec }: RulesReview, caller: Caller, signal: AbortSignal): Promise<object> {
    const kind = 'SelfSubjectRulesReview';
    const answer = await this.#create('selfsubjectrulesreviews', { kind, spec: spec ?? {} }, caller, signal);
    return { apiVersion, kind, metadata: {}, spec: spec ?? {}, status: parseAnswer(z.object({ status: rulesStatus }), answer).status };
  }

  /** Returns the answer to one review, explained if the installation explains. @throws StatusError like `review` */
  async status(spec: ReviewSpec, { caller, signal, isExplained }: Asking): Promise<AnsweredStatus> {
    const status = await this.#access.review(caller, sentOn(spec), signal);
    if (!isExplained || this.#explainer === undefined) return status;
    return { ...status, explanation: await this.#explainer.explain({ spec, status, caller, signal }) };
  }

  async #outcome(spec: ReviewSpec, asking: Asking): Promise<Outcome> {
    try {
      return { status: await this.status(spec, asking) };
    } catch (failure) {
      if (failure instanceof StatusError && failure.status.code !== 401 && !isOurRefusal(failure)) return { failure };
      throw failure;
    }
  }

  /** Passes the metadata on, because the API server refuses it and defines which metadata is empty. */
  async #reviewWithMetadata(review: object, caller: Caller, signal: AbortSignal): Promise<AccessStatus> {
    const answer = await this.#create('selfsubjectaccessreviews', { kind: 'SelfSubjectAccessReview', ...review }, caller, signal);
    return parseAnswer(z.object({ status: accessStatus }), answer).status;
  }

  async #create(resource: string, review: object, caller: Caller, signal: AbortSignal): Promise<unknown> {
    const body = { apiVersion: kubernetesVersion, ...review };
    const call = {
      call: `create ${resource}`,
      method: 'POST',
      path: `${resources}/${resource}`,
      body,
      isRepeatable: true,
      signal,
    } as const;
    try {
      return await this.#apiServer.asCaller(caller).request(call);
    } catch (error) {
      throw pageAsOutage(error);
    }
  }
}

const sentOn = (spec: ReviewSpec) => spec ?? nothing;

const nothing = {};

/** Returns a copy without null members, because the API server's answers have none. */
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

/** @throws StatusError 503 for an answer without a valid status */
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

/** Reports whether the failure is about this review rather than the request. */
const isAboutReview = ({ status: { code } }: StatusError) => code === 400 || code === 422;

/** Reports whether too many reviews of this caller wait. A retry of the whole batch finds the cached answers. */
const isOurRefusal = (error: unknown): boolean =>
  error instanceof StatusError && !(error instanceof UpstreamError) && error.status.code === 429;

/** Returns the status; a failed review is not allowed. */
const statusOf = (outcome: Outcome): AnsweredStatus =>
  'status' in outcome ? outcome.status : { allowed: false, evaluationError: outcome.failure.message };
