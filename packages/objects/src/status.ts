/**
 * The error body of the service: a Kubernetes Status. Handlers throw `StatusError`; every other error is a defect and becomes a bare 500
 * (see error-answers.ts). Each kind of refusal has its constructor.
 *
 * @see https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/
 */

/** A machine-readable cause; `field` is a dotted JSON path with zero-based `[n]`, or the name of a parameter. */
export interface StatusCause {
  reason?: string;
  message?: string;
  field?: string;
}

interface StatusDetails {
  name?: string;
  group?: string;
  /** Plural of the resource for 403, 404 and 409, Kind for 422, like the API server. */
  kind?: string;
  uid?: string;
  causes?: StatusCause[];
  retryAfterSeconds?: number;
}

/** Reasons of `k8s.io/apimachinery/pkg/apis/meta/v1` that the service uses. */
export type StatusReason =
  | 'BadRequest'
  | 'Unauthorized'
  | 'Forbidden'
  | 'NotFound'
  | 'MethodNotAllowed'
  | 'NotAcceptable'
  | 'AlreadyExists'
  | 'Conflict'
  | 'Expired'
  | 'Invalid'
  | 'RequestEntityTooLarge'
  | 'UnsupportedMediaType'
  | 'TooManyRequests'
  | 'InternalError'
  | 'NotImplemented'
  | 'ServiceUnavailable'
  | 'Timeout';

export interface Status {
  kind: 'Status';
  apiVersion: 'v1';
  metadata: Record<string, unknown>;
  status: 'Failure' | 'Success';
  message: string;
  reason?: string;
  details?: StatusDetails;
  code: number;
}

/** A resource as RBAC and error messages name it: plural and group, such as `users` in `auth.platform.io`. */
export interface GroupResource {
  group: string;
  resource: string;
}

/** Right that a caller lacks. */
export interface DeniedAccess extends GroupResource {
  verb: string;
  subresource?: string | undefined;
  namespace?: string | undefined;
  name?: string | undefined;
}

interface StatusOptions extends ErrorOptions {
  details?: StatusDetails;
  headers?: Record<string, string>;
  denied?: DeniedAccess;
}

/** Bounds of a refusal, which may repeat text of the caller. */
const limits = { message: 8192, causes: 100, causeMessage: 1024, field: 512 };

const clipped = (text: string, length: number) => (text.length > length ? `${text.slice(0, length)}…` : text);

const clippedCause = ({ message, field, ...cause }: StatusCause): StatusCause => ({
  ...cause,
  ...(message !== undefined && { message: clipped(message, limits.causeMessage) }),
  ...(field !== undefined && { field: clipped(field, limits.field) }),
});

const clippedDetails = ({ causes, ...details }: StatusDetails): StatusDetails => ({
  ...details,
  ...(causes && { causes: causes.slice(0, limits.causes).map(clippedCause) }),
});

/** A failure that the caller may see completely. `headers` are set on the answer beside the body. */
export class StatusError extends Error {
  override readonly name = 'StatusError';
  readonly status: Status;
  readonly headers: Readonly<Record<string, string>>;
  /** Right that the caller lacks, of a 403 for one. The Status has it in its message alone. */
  readonly denied: DeniedAccess | undefined;

  constructor(code: number, reason: StatusReason, message: string, { details, headers, denied, ...options }: StatusOptions = {}) {
    const shown = clipped(message, limits.message);
    super(shown, options);
    this.denied = denied;
    this.status = {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: shown,
      reason,
      ...(details && { details: clippedDetails(details) }),
      code,
    };
    const retryAfter = details?.retryAfterSeconds;
    this.headers = retryAfter === undefined ? { ...headers } : { 'Retry-After': String(retryAfter), ...headers };
  }
}

/** Returns the name that kubectl uses: `users.auth.platform.io`, or `configmaps` in the core group. */
export const qualified = ({ group, resource }: GroupResource): string => (group ? `${resource}.${group}` : resource);

/** 400; `causes[].field` is the name of the parameter. */
export const badRequest = (message: string, causes?: StatusCause[]) =>
  new StatusError(400, 'BadRequest', message, causes && { details: { causes } });

/** 400 for a query or path parameter. */
export const badParameter = (field: string, message: string, reason = 'FieldValueInvalid') =>
  badRequest(`${field}: ${message}`, [{ reason, message, field }]);

/** 401. Reports a refused token as RFC 6750 section 3 requires. */
export const unauthorized = ({
  tokenGiven,
  message = 'Unauthorized',
  causes,
}: {
  tokenGiven: boolean;
  message?: string;
  causes?: StatusCause[];
}) =>
  new StatusError(401, 'Unauthorized', message, {
    ...(causes && { details: { causes } }),
    headers: { 'WWW-Authenticate': `Bearer realm="atrium"${tokenGiven ? ', error="invalid_token"' : ''}` },
  });

/** 403 with the API server's message. `namespace` undefined means the cluster scope. */
export const forbidden = (
  target: GroupResource & { subresource?: string; name?: string; verb: string; user: string; namespace?: string },
  causes?: StatusCause[],
) => {
  const resource = target.subresource ? `${target.resource}/${target.subresource}` : target.resource;
  const scope = target.namespace ? `in the namespace "${target.namespace}"` : 'at the cluster scope';
  const subject = target.name ? `${qualified(target)} "${target.name}"` : qualified(target);
  return new StatusError(
    403,
    'Forbidden',
    `${subject} is forbidden: User "${target.user}" cannot ${target.verb} resource "${resource}" in API group "${target.group}" ${scope}`,
    {
      details: {
        ...(target.name && { name: target.name }),
        ...(target.group && { group: target.group }),
        kind: target.resource,
        ...(causes && { causes }),
      },
      denied: target,
    },
  );
};

/** 403 for a path that is not a resource. */
export const forbiddenPath = ({ user, verb, path }: { user: string; verb: string; path: string }) =>
  new StatusError(403, 'Forbidden', `forbidden: User "${user}" cannot ${verb} path "${path}"`);

/** 403 until a required password change. */
export const passwordDue = () =>
  new StatusError(403, 'Forbidden', 'the password must be changed first', {
    details: { causes: [{ reason: 'PasswordChangeRequired', message: 'the password must be changed first' }] },
  });

/** 404 for an object. */
export const notFound = (target: GroupResource, name: string) =>
  new StatusError(404, 'NotFound', `${qualified(target)} "${name}" not found`, {
    details: { name, ...(target.group && { group: target.group }), kind: target.resource },
  });

/** 404 for a path without an operation. */
export const unknownPath = () => new StatusError(404, 'NotFound', 'the server could not find the requested resource');

export const methodNotAllowed = (method: string, allow: readonly string[]) =>
  new StatusError(405, 'MethodNotAllowed', `${method} is not allowed on this path`, { headers: { Allow: allow.join(', ') } });

/** @param given input that the name is derived from, with the cause that names its field */
export const alreadyExists = (
  target: GroupResource,
  name: string,
  { given = name, causes }: { given?: string; causes?: StatusCause[] } = {},
) =>
  new StatusError(409, 'AlreadyExists', `${qualified(target)} "${given}" already exists`, {
    details: { name, ...(target.group && { group: target.group }), kind: target.resource, ...(causes && { causes }) },
  });

export const conflict = (target: GroupResource, name: string, why: string, retryAfterSeconds?: number) =>
  new StatusError(409, 'Conflict', `Operation cannot be fulfilled on ${qualified(target)} "${name}": ${why}`, {
    details: {
      name,
      ...(target.group && { group: target.group }),
      kind: target.resource,
      ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
    },
  });

/** 410: a `continue` or `resourceVersion` that is too old; the caller restarts. */
export const expired = (message: string) => new StatusError(410, 'Expired', message);

export const entityTooLarge = (message: string) => new StatusError(413, 'RequestEntityTooLarge', message);

export const unsupportedMediaType = (accepted: readonly string[]) =>
  new StatusError(415, 'UnsupportedMediaType', `the body must be sent without Content-Encoding and be one of: ${accepted.join(', ')}`);

/** 416: a range of bytes that a file does not have (RFC 9110, 15.5.17). `size` is in bytes. */
export const rangeNotSatisfiable = (size: number) =>
  new StatusError(416, 'BadRequest', 'the range lies outside the file', { headers: { 'Content-Range': `bytes */${size}` } });

/** 422 with all violations, worded like the API server's field errors. `kind` is the Kind, not the plural. */
export const invalid = ({ group, kind, name }: { group: string; kind: string; name: string }, causes: readonly Required<StatusCause>[]) => {
  const texts = causes.map((cause) => `${cause.field}: ${cause.message}`);
  const what = texts.length === 1 ? texts[0] : `[${texts.join(', ')}]`;
  return new StatusError(422, 'Invalid', `${group ? `${kind}.${group}` : kind} "${name}" is invalid: ${what}`, {
    details: { ...(name && { name }), ...(group && { group }), ...(kind && { kind }), causes: [...causes] },
  });
};

/** Rounds up to whole seconds, at least one. Clocks return fractions: 10,000.000000001 ms are ten seconds, not eleven. */
export const wholeRetrySeconds = (ms: number): number => Math.max(1, Math.ceil(Math.round(ms) / 1000));

export const tooManyRequests = (message: string, retryAfterSeconds = 1) =>
  new StatusError(429, 'TooManyRequests', message, { details: { retryAfterSeconds } });

export const headersTooLarge = () =>
  new StatusError(431, 'BadRequest', 'the request line and headers are larger than 16 KiB, or than 64 KiB with the bearer token');

/** 500. `text` must be harmless: no stack, path, host, token or upstream text. */
export const internalError = (text = 'the request could not be completed', options?: ErrorOptions) =>
  new StatusError(500, 'InternalError', `Internal error occurred: ${text}`, { details: { causes: [{ message: text }] }, ...options });

/** 501: an operation that the embedded cluster does not implement. */
export const notImplemented = (what: string) => new StatusError(501, 'NotImplemented', `the embedded cluster does not implement ${what}`);

/** Name of a dependency in messages to callers. */
export type Dependency = 'kubernetes' | 'identity provider' | 'directory' | 'the plugin' | 'the audit store';

/** 503: a dependency cannot be reached, or its answer is invalid. */
export const serviceUnavailable = (dependency: Dependency, options: ErrorOptions & { retryAfterSeconds?: number } = {}) => {
  const { retryAfterSeconds = 1, ...rest } = options;
  return new StatusError(503, 'ServiceUnavailable', `${dependency} is not available, try again`, {
    details: { retryAfterSeconds },
    ...rest,
  });
};

/** Retry interval for faults that an administrator has to correct. */
const incompleteRetrySeconds = 30;

/** 503: the cluster lacks rights or definitions of the installation. `what` names them, and the manifest to apply. */
export const installationIncomplete = (target: GroupResource, reason: string, what: string, cause?: unknown) =>
  new StatusError(503, 'ServiceUnavailable', `${qualified(target)}: ${what}`, {
    details: {
      ...(target.group && { group: target.group }),
      kind: target.resource,
      causes: [{ reason, message: what }],
      retryAfterSeconds: incompleteRetrySeconds,
    },
    cause,
  });

/** 504: a dependency, or the whole request, exceeded its deadline. */
export const timedOut = (dependency: Dependency | 'the request' | 'the body of the request', options: ErrorOptions = {}) =>
  new StatusError(504, 'Timeout', `${dependency} did not answer in time, try again`, { details: { retryAfterSeconds: 1 }, ...options });

/** 504: a version that has not been seen within the wait, in the words of the API server. */
export const resourceVersionTooLarge = (wanted: string, current: string) =>
  new StatusError(504, 'Timeout', `Timeout: Too large resource version: ${wanted}, current: ${current}`, {
    details: { causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }], retryAfterSeconds: 1 },
  });

/** 503 of the service itself: a cause for each failed check, with its name as `reason`. */
export const notReady = (causes: StatusCause[]) =>
  new StatusError(503, 'ServiceUnavailable', `not ready: ${causes.map(({ reason, message }) => `${reason} (${message})`).join(', ')}`, {
    details: { causes, retryAfterSeconds: 1 },
  });
