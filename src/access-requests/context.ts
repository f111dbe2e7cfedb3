import type { WatchCache } from '@atrium/kubernetes/watch/watch-cache.ts';
import type { Collection } from '@atrium/lists/collection.ts';
import type { UserBindingRow } from '../bindings/row.ts';
import type { Services } from '../services.ts';
import type { AdmissionPolicies } from './admission-policies.ts';
import type { People } from './people.ts';
import type { PolicyRow } from './policy.ts';
import type { RequestRow } from './request.ts';

/** Dependencies of operations and of the controller. */
export interface AccessContext {
  readonly services: Services;
  readonly policies: Collection<PolicyRow>;
  readonly requests: Collection<RequestRow>;
  readonly bindings: WatchCache<UserBindingRow>;
  readonly people: People;
  readonly admission: AdmissionPolicies;
}
