/** Compares the answers of the watched roles with those of the API server, on random questions. */
import { createLog } from '@atrium/http/telemetry/log.ts';
import { Metrics } from '@atrium/http/telemetry/metrics.ts';
import { KubernetesClient as Client } from '@atrium/kubernetes/kubernetes-client.ts';
import { ChangedRbac } from '@atrium/kubernetes/rbac/changed.ts';
import { differences, type Tuple } from '@atrium/kubernetes/rbac/difference.ts';
import { allowedNamespaces, inNamespace, isGranted, type RbacSubject } from '@atrium/kubernetes/rbac/grants.ts';
import { roleBindingOf } from '@atrium/kubernetes/rbac/role-bindings.ts';
import { type AccessQuestion, keptRules, ruleAllows } from '@atrium/kubernetes/rbac/rules.ts';
import { RbacWatch } from '@atrium/kubernetes/rbac/watch.ts';
import { request } from 'undici';
import { z } from 'zod';
import type { ApiServer } from '../../support/api-server.ts';
import { ClusterAdmin, eventually, type Manifest, pathOf } from '../../support/cluster-admin.ts';
import { Trusting } from '../../support/trusting.ts';
import { aBinding, aRole, podRule, rbacGroup } from './objects.ts';
import { RandomRbac, randomNamespaces } from './random-rbac.ts';

const parallel = 24;

export interface Disagreement {
  who: RbacSubject;
  question: AccessQuestion;
  /** Answer of the API server, with its reason. */
  status: { allowed: boolean; reason?: string | undefined };
}

export interface Agreement {
  asked: number;
  /** Number of questions that the API server allowed. */
  allowed: number;
  disagreements: Disagreement[];
  /** Questions about all namespaces at once whose answer differs from those about each namespace. */
  forecasts: { asked: number; wrong: number };
}

export interface ChangeAgreement {
  asked: number;
  /** Questions that the API server allows after the change alone, and before it alone. */
  gained: number;
  lost: number;
  disagreements: {
    who: RbacSubject;
    question: AccessQuestion;
    real: { before: boolean; after: boolean };
    isGained: boolean;
    isLost: boolean;
  }[];
}

const nobody: RbacSubject = { name: '', groups: [] };

/** Reports whether a tuple of a difference allows a request. */
function tupleAllows({ namespace, part, verbs }: Tuple, question: AccessQuestion): boolean {
  const asRule = { verbs, apiGroups: [], resources: [], resourceNames: [], nonResourceURLs: [] };
  if ('path' in part) return 'path' in question && ruleAllows({ ...asRule, nonResourceURLs: [part.path] }, question);
  if ('path' in question || (namespace !== '' && namespace !== question.namespace)) return false;
  const { group, resource, name } = part;
  return ruleAllows({ ...asRule, apiGroups: [group], resources: [resource], resourceNames: name === '' ? [] : [name] }, question);
}

const listedRole = z.object({
  metadata: z.object({ labels: z.record(z.string(), z.string()).optional() }),
  rules: z.array(z.unknown()).nullish(),
  aggregationRule: z
    .object({ clusterRoleSelectors: z.array(z.object({ matchLabels: z.record(z.string(), z.string()).optional() })) })
    .optional(),
});
type ListedRole = z.output<typeof listedRole>;
const clusterRoles = z.object({ items: z.array(listedRole) });

/** Returns equal texts for roles that together have the same rules. */
const textsOf = (roles: readonly ListedRole[]): string =>
  [...new Set(roles.flatMap(({ rules }) => (rules ?? []).map((rule) => JSON.stringify(rule))))].sort().join();

const answered = z.object({ status: z.object({ allowed: z.boolean(), reason: z.string().optional() }) });

/** A cluster, and its roles as the service watches them. */
export class AgreementCheck {
  readonly #admin: ClusterAdmin;
  readonly #client: Client;
  readonly #rbac: RbacWatch;
  readonly #agent: Trusting;
  readonly #reviews: string;
  readonly #authorization: string;

  private constructor({ url, certificateAuthority }: ApiServer, token: string) {
    this.#admin = new ClusterAdmin({ url, certificateAuthority }, token);
    this.#authorization = `Bearer ${token}`;
    this.#agent = new Trusting(certificateAuthority, { connections: parallel });
    this.#reviews = `${url}/apis/authorization.k8s.io/v1/subjectaccessreviews`;
    const metrics = new Metrics();
    this.#client = new Client({
      connection: {
        server: url,
        tls: { ca: certificateAuthority },
        namespace: undefined,
        authorization: async () => this.#authorization,
        discardAuthorization() {},
      },
      requestTimeoutMs: 60_000,
      metrics,
    });
    const log = createLog({ level: 'silent', format: 'json' });
    this.#rbac = new RbacWatch({ client: this.#client.asService, metrics, log }, { onChange() {}, keepsRules: true });
  }

  static async start(cluster: ApiServer): Promise<AgreementCheck> {
    const check = new AgreementCheck(cluster, await cluster.token('admin'));
    check.#rbac.start();
    await eventually(() => check.#rbac.isSynced, Boolean);
    return check;
  }

  /** Creates random objects, and asks a number of questions about them. */
  async run({ seed, round, questions }: { seed: number; round: number; questions: number }): Promise<Agreement> {
    const random = new RandomRbac(seed, round);
    await this.#admin.apply(...random.objects());
    await this.#settle(`settled-${round}`);
    const result: Agreement = { asked: 0, allowed: 0, disagreements: [], forecasts: { asked: 0, wrong: 0 } };
    const asked = Array.from({ length: questions }, () => ({ who: random.who(), question: random.question() }));
    const left = asked.values();
    const work = async () => {
      for (const { who, question } of left) {
        const status = await this.#ask(who, question);
        result.asked += 1;
        if (status.allowed) result.allowed += 1;
        if (status.allowed !== isGranted(this.#rbac, who, question)) result.disagreements.push({ who, question, status });
        if (!('path' in question)) this.#forecast(who, question, result.forecasts);
      }
    };
    await Promise.all(Array.from({ length: parallel }, work));
    return result;
  }

  /**
   * Asks questions before and after changes that are simulated first, and compares the API server's answers with the simulation (SIM-01).
   * Every new answer must be in the difference of the user, and everything in the difference must be answered so.
   */
  async runChange({ seed, round, questions }: { seed: number; round: number; questions: number }): Promise<ChangeAgreement> {
    const random = new RandomRbac(seed, round);
    const objects = random.objects();
    await this.#admin.apply(...objects);
    await this.#settle(`settled-${round}`);
    const people = Array.from({ length: 40 }, () => random.who());
    const asked = Array.from({ length: questions }, (_, index) => ({ person: index % people.length, question: random.question() }));
    const { written, deleted } = random.changes(objects);
    const after = await this.#simulated(written, deleted);
    const views = { before: this.#rbac, after };
    const bounds = { maxTuples: 1_000_000, maxBindings: 1_000_000 };
    const changed = await differences(
      views,
      people.map((who) => ({ before: who, after: who })),
      bounds,
    );
    const forecasts = asked.map(({ person, question }) => {
      const who = people[person] ?? nobody;
      return { before: isGranted(this.#rbac, who, question), after: isGranted(after, who, question) };
    });
    const before = await this.#askAll(asked, people);
    for (const object of deleted) await this.#admin.remove(pathOf(object, object.metadata.name));
    await this.#admin.apply(...written);
    await this.#settle(`changed-${round}`);
    const now = await this.#askAll(asked, people);
    const result: ChangeAgreement = { asked: asked.length, gained: 0, lost: 0, disagreements: [] };
    for (const [index, { person, question }] of asked.entries()) {
      const real = { before: before[index] === true, after: now[index] === true };
      const { gained = [], lost = [] } = changed[person] ?? {};
      const isGained = gained.some((tuple) => tupleAllows(tuple, question));
      const isLost = lost.some((tuple) => tupleAllows(tuple, question));
      if (!real.before && real.after) result.gained += 1;
      if (real.before && !real.after) result.lost += 1;
      const agrees =
        real.before === forecasts[index]?.before &&
        real.after === forecasts[index]?.after &&
        (real.before || real.after === isGained) &&
        (real.after || real.before === isLost) &&
        (real.after || !isGained) &&
        (real.before || !isLost);
      if (!agrees) result.disagreements.push({ who: people[person] ?? nobody, question, real, isGained, isLost });
    }
    return result;
  }

  async #simulated(written: readonly Manifest[], deleted: readonly Manifest[]): Promise<ChangedRbac> {
    const changed = new ChangedRbac(this.#rbac);
    for (const { kind, metadata } of deleted) {
      const { name, namespace = '' } = metadata;
      if (kind.endsWith('Binding')) changed.removeBinding({ name, namespace });
      else changed.putRole(namespace, name, undefined);
    }
    for (const object of written) {
      const { kind, metadata, rules, aggregationRule } = object;
      const { name, namespace = '' } = metadata;
      const stored = { ...object, metadata: { ...metadata, uid: 'new', resourceVersion: '1', creationTimestamp: '' } };
      if (kind === 'RoleBinding' || kind === 'ClusterRoleBinding') changed.putBinding(roleBindingOf(stored, kind, true));
      else changed.putRole(namespace, name, { uid: 'new', ...keptRules({ metadata, rules, aggregationRule }) });
    }
    await changed.aggregate();
    return changed;
  }

  async #askAll(asked: readonly { person: number; question: AccessQuestion }[], people: readonly RbacSubject[]): Promise<boolean[]> {
    const answers: boolean[] = [];
    const left = asked.entries();
    const work = async () => {
      for (const [index, { person, question }] of left) answers[index] = (await this.#ask(people[person] ?? nobody, question)).allowed;
    };
    await Promise.all(Array.from({ length: parallel }, work));
    return answers;
  }

  async stop(): Promise<void> {
    await this.#rbac.stop();
    await this.#client.close();
    await this.#admin.close();
    await this.#agent.close();
  }

  #forecast(
    who: RbacSubject,
    { verb, group, resource, subresource }: Exclude<AccessQuestion, { path: string }>,
    result: Agreement['forecasts'],
  ): void {
    const asked = { verb, group, resource, subresource };
    const allowed = allowedNamespaces(this.#rbac, who, asked);
    for (const namespace of randomNamespaces) {
      result.asked += 1;
      const isIn = allowed === 'all' || allowed.has(namespace);
      if (isIn !== isGranted(this.#rbac, who, inNamespace(asked, namespace))) result.wrong += 1;
    }
  }

  async #ask({ name, groups }: RbacSubject, question: AccessQuestion): Promise<Disagreement['status']> {
    const attributes = 'path' in question ? { nonResourceAttributes: question } : { resourceAttributes: question };
    const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec: { user: name, groups, ...attributes } };
    const { statusCode, body } = await request(this.#reviews, {
      method: 'POST',
      dispatcher: this.#agent,
      headers: { authorization: this.#authorization, 'content-type': 'application/json' },
      body: JSON.stringify(review),
    });
    if (statusCode === 429) {
      await body.dump();
      return this.#ask({ name, groups }, question);
    }
    const answer: unknown = await body.json();
    if (statusCode !== 201) throw new Error(`${statusCode} ${JSON.stringify(answer)}`);
    return answered.parse(answer).status;
  }

  /** Waits until the aggregated roles are complete, and until the service and the API server have seen the last object of each kind. */
  async #settle(name: string): Promise<void> {
    await eventually(() => this.#areAggregated(), Boolean);
    const [namespace = ''] = randomNamespaces;
    const to = `User:${name}` as const;
    await this.#admin.apply(
      aRole(name, [podRule(['get'])]),
      aRole(name, [podRule(['list'])], namespace),
      aBinding(name, { role: name, to }),
      aBinding(name, { role: name, roleKind: 'Role', to, namespace }),
    );
    const who = { name, groups: [] };
    for (const verb of ['get', 'list']) {
      const question = { verb, group: '', resource: 'pods', subresource: '', namespace, name: '' };
      await eventually(() => isGranted(this.#rbac, who, question), Boolean);
      await eventually(async () => (await this.#ask(who, question)).allowed, Boolean);
    }
  }

  /** Reports whether aggregation is complete, which the controller does not publish. */
  async #areAggregated(): Promise<boolean> {
    const { body } = await this.#admin.call('GET', `/apis/${rbacGroup}/v1/clusterroles`);
    const roles = clusterRoles.parse(body).items;
    const partsOf = (whole: ListedRole) =>
      roles.filter(
        (role) =>
          role !== whole &&
          whole.aggregationRule?.clusterRoleSelectors.some(({ matchLabels = {} }) =>
            Object.entries(matchLabels).every(([label, value]) => role.metadata.labels?.[label] === value),
          ),
      );
    return roles
      .filter(({ aggregationRule }) => aggregationRule !== undefined)
      .every((whole) => textsOf([whole]) === textsOf(partsOf(whole)));
  }
}
