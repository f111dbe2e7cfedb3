import type { Person } from '../../support/api-server.ts';
import { eventually, type Manifest } from '../../support/cluster-admin.ts';
import type { TestServer } from '../../support/server.ts';

const reviewsPath = '/apis/auth.platform.io/v1/bindingreviews';
const mergePatch = { 'content-type': 'application/merge-patch+json' };

/** Returns a review of the namespace `shop`, as `kubectl apply` writes it. */
export const aReview = (name: string, spec: Record<string, unknown> = {}): Manifest => ({
  apiVersion: 'auth.platform.io/v1',
  kind: 'BindingReview',
  metadata: { name },
  spec: { namespace: 'shop', ...spec },
});

export interface StoredReview {
  metadata: { name: string; uid: string };
  status?: {
    phase?: string;
    round?: number;
    openedAt?: string;
    dueAt?: string;
    reminders?: number;
    reminderAttempts?: number;
    reminderFailure?: string;
    bindings?: number;
    open?: number;
    answers?: { name: string; version: string; decision: string; by?: string; isOwn?: boolean }[];
  };
}

export interface ReviewedItem {
  binding: { kind: string; name: string; namespace: string; userBinding?: string };
  version: string;
  isOwn: boolean;
  answer?: { decision: string; by?: string };
}

interface Refusal {
  code?: number;
  message?: string;
  details?: { causes?: { reason: string }[] };
}

/** Reviews at the service, and in the cluster. */
export class Reviews {
  readonly #server: Pick<TestServer, 'request' | 'kubernetes'>;

  constructor(server: Pick<TestServer, 'request' | 'kubernetes'>) {
    this.#server = server;
  }

  /** Creates a review, and waits until the leader has begun it. */
  async begin(name: string, spec: Record<string, unknown> = {}): Promise<StoredReview> {
    await this.#server.kubernetes.apply(aReview(name, spec));
    return this.until(name, ({ status }) => status?.open !== undefined);
  }

  until(name: string, isReached: (review: StoredReview) => boolean): Promise<StoredReview> {
    return eventually(async () => (await this.#server.kubernetes.call('GET', `${reviewsPath}/${name}`)).body as StoredReview, isReached);
  }

  /** Wakes the leader up, after the time or a binding has changed. */
  async touch(name: string, mark: string): Promise<void> {
    await this.#server.kubernetes.call('PATCH', `${reviewsPath}/${name}`, { metadata: { annotations: { mark } } }, mergePatch);
  }

  async bindings(name: string, as: Person): Promise<ReviewedItem[]> {
    const response = await this.#server.request(`/auth/v1/bindingreviews/${name}/bindings`, { as });
    const body: unknown = await response.json();
    if (response.status !== 200) throw new Error(JSON.stringify(body));
    return (body as { items: ReviewedItem[] }).items;
  }

  /** Waits until the service knows a binding of the review. */
  async binding(review: string, name: string, as: Person): Promise<ReviewedItem> {
    const items = await eventually(
      () => this.bindings(review, as),
      (known) => known.some(({ binding }) => binding.name === name),
    );
    const found = items.find(({ binding }) => binding.name === name);
    if (found === undefined) throw new Error(`no ${name}`);
    return found;
  }

  async answer(review: string, body: unknown, as: Person, options: { token?: string } = {}) {
    const response = await this.#server.request(`/auth/v1/bindingreviews/${review}/answers`, { method: 'POST', as, body, ...options });
    return { status: response.status, body: (await response.json()) as StoredReview & Refusal };
  }
}
