import { runOutsideFlows } from '@atrium/http/limits/semaphore.ts';
import { abortable, neverAborts } from '@atrium/kubernetes/deadline.ts';
import { admissionPolicyCommand } from '@atrium/kubernetes/manifests.ts';
import { isKubernetesObject, type ResourceType } from '@atrium/kubernetes/resource.ts';
import { ServiceResource } from '@atrium/kubernetes/resource-client.ts';
import { reader } from '@atrium/objects/reader.ts';
import { type GroupResource, installationIncomplete, type StatusError } from '@atrium/objects/status.ts';
import { z } from 'zod';
import type { Services } from '../services.ts';

/** Age of the last check. A policy that is removed is noticed within this time. */
const maxAgeMs = 50_000;

const group = 'admissionregistration.k8s.io';
const typeOf = (resource: string): ResourceType => ({ group, version: 'v1', resource });

const readPolicy = reader(z.object({ spec: z.object({ failurePolicy: z.string(), validations: z.array(z.unknown()) }) }));
const readBinding = reader(z.object({ spec: z.object({ policyName: z.string(), validationActions: z.array(z.string()) }) }));

interface Guarded {
  /** Resource that refusals name. */
  readonly of: GroupResource;
  /** Resources of `auth.platform.io` whose policies must be in force. */
  readonly policies: readonly string[];
}

/**
 * Checks that admission policies of the chart are in force. Without them a caller who may write AccessPolicies or requests could gain any
 * role that the service may bind, and one who may write BindingReviews could end any UserBinding.
 */
export class AdmissionPolicies {
  readonly #services: Services;
  readonly #guarded: Guarded;
  #checkedAt = Number.NEGATIVE_INFINITY;
  #missing: string | undefined;
  #running: Promise<void> | undefined;

  constructor(services: Services, guarded: Guarded) {
    this.#services = services;
    this.#guarded = guarded;
  }

  /** @throws StatusError 503, cause `AdmissionPolicyMissing`; 503, 504 if the API server does not tell */
  async require(signal: AbortSignal): Promise<void> {
    if (this.#services.clock() - this.#checkedAt > maxAgeMs) await this.#check(signal);
    if (this.#missing !== undefined) throw policyMissing(this.#guarded.of, this.#missing);
  }

  /** Callers share one check, which continues if the first of them disconnects. */
  async #check(signal: AbortSignal): Promise<void> {
    this.#running ??= runOutsideFlows(() => this.#look()).finally(() => {
      this.#running = undefined;
    });
    await abortable(this.#running, signal);
  }

  async #look(): Promise<void> {
    const begun = this.#services.clock();
    const policies = this.#guarded.policies.map((resource) => `${resource}.auth.platform.io`);
    const found = await Promise.all(policies.map(async (name) => ({ name, isInForce: await this.#isInForce(name) })));
    this.#missing = found.find(({ isInForce }) => !isInForce)?.name;
    // A missing policy is looked for again by the next request.
    this.#checkedAt = this.#missing === undefined ? begun : Number.NEGATIVE_INFINITY;
  }

  async #isInForce(name: string): Promise<boolean> {
    const get = (resource: string, kind: string) =>
      new ServiceResource(this.#services.client, { type: typeOf(resource), kind }).find(name, neverAborts);
    const [policy, binding] = await Promise.all([
      get('validatingadmissionpolicies', 'ValidatingAdmissionPolicy'),
      get('validatingadmissionpolicybindings', 'ValidatingAdmissionPolicyBinding'),
    ]);
    if (!isKubernetesObject(policy) || !isKubernetesObject(binding)) return false;
    const { failurePolicy = 'Fail', validations = [] } = readPolicy(policy).spec ?? {};
    const { policyName, validationActions = [] } = readBinding(binding).spec ?? {};
    return failurePolicy === 'Fail' && validations.length > 0 && policyName === name && validationActions.includes('Deny');
  }
}

const policyMissing = (resource: GroupResource, name: string): StatusError =>
  installationIncomplete(
    resource,
    'AdmissionPolicyMissing',
    `the admission policy ${name} or its binding is not active; ${admissionPolicyCommand}`,
  );
