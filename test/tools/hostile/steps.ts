/** Steps of the attacker as data, which can be repeated, shortened and printed. */

/** Caller of a step: the attacker with the token of the API server, or the newest credential of a user. */
export type As = 'token' | (string & {});

export interface KubectlStep {
  do: 'kubectl';
  method: string;
  path: string;
  body?: unknown;
  type?: string;
  impersonate?: string;
}

export interface ApiStep {
  do: 'api';
  as: As;
  method: string;
  path: string;
  body?: unknown;
  type?: string;
}

interface LoginStep {
  do: 'login';
  email: string;
  password: string;
  storage: 'local' | 'cookie';
}

interface IssuerStep {
  do: 'issuer';
  claims: Record<string, unknown>;
  storage: 'local' | 'cookie' | 'bearer';
}

export type Step =
  | KubectlStep
  | ApiStep
  | LoginStep
  | IssuerStep
  | { do: 'token'; as: As }
  | { do: 'refresh' | 'logout'; as: As }
  | { do: 'wait'; ms: number }
  | { do: 'clock'; seconds: number }
  /** An honest administrator lets the attacker write UserBindings. */
  | { do: 'lend' }
  /** An honest administrator creates the user again, with the honest password. */
  | { do: 'restore'; email: string }
  /** The honest users check that their state is unchanged. */
  | { do: 'look' }
  | { do: 'race'; steps: Step[] };

/**
 * Placeholders in paths and bodies: the current UID and resource version of a record, `$uid(NAME)` and `$rv(NAME)`; the user name of an
 * address, `$subject(ADDRESS)`; the name and UID of the nth most recently changed request of access, `$areq(N)` and `$areqUID(N)`.
 */
export const placeholder = /\$(uid|rv|subject|areq|areqUID)\(([^)]*)\)/g;

/** Counts the steps, also inside of races. */
export const countSteps = (steps: readonly Step[]): number =>
  steps.reduce((sum, step) => sum + (step.do === 'race' ? countSteps(step.steps) : 1), 0);

export function describeStep(step: Step): string {
  switch (step.do) {
    case 'kubectl': {
      const as = step.impersonate ? ` --as=${step.impersonate}` : '';
      return `kubectl${as}: ${step.method} ${step.path}${bodyText(step)}`;
    }
    case 'api':
      return `API as ${step.as}: ${step.method} ${step.path}${bodyText(step)}`;
    case 'login':
      return `log in as ${step.email} with "${step.password}", storage ${step.storage}`;
    case 'issuer':
      return `log in at the issuer with ${JSON.stringify(step.claims)}, storage ${step.storage}`;
    case 'token':
      return `make an access token as ${step.as}`;
    case 'refresh':
    case 'logout':
      return `${step.do} with the refresh token of ${step.as}`;
    case 'wait':
      return `wait ${step.ms} ms`;
    case 'clock':
      return `put the clock forward by ${step.seconds} s`;
    case 'restore':
      return `an administrator makes ${step.email} anew`;
    case 'lend':
      return 'an administrator lets the attacker write UserBindings';
    case 'look':
      return 'the honest users look';
    case 'race':
      return `at once: ${step.steps.map(describeStep).join(' | ')}`;
  }
}

const bodyText = ({ body, type }: { body?: unknown; type?: string }): string =>
  `${type === undefined ? '' : ` (${type})`}${body === undefined ? '' : ` ${JSON.stringify(body)}`}`;
