import type { RequestListener } from 'node:http';
import type { ParsedUrlQuery } from 'node:querystring';
import Koa, { type Context, type Middleware, type Request } from 'koa';
import type { Logger } from 'pino';
import { bodyArrival } from './body.ts';
import type { ClientAddresses } from './client-address.ts';
import { Admission, type AdmissionOptions } from './middleware/admission.ts';
import { errorAnswers } from './middleware/error-answers.ts';
import { representation } from './middleware/representation.ts';
import { requestHead, stripBasePath } from './middleware/request-head.ts';
import { requestRecords } from './middleware/request-records.ts';
import { requestState } from './middleware/request-state.ts';
import { cors, type ResponseHeadersOptions, responseHeaders } from './middleware/response-headers.ts';
import type { Kind } from './request-deadline.ts';
import { ownPlaces, type RouterOptions, routeOperations } from './router.ts';
import { Tracing } from './telemetry/tracing.ts';

export interface ChainOptions extends AdmissionOptions, ResponseHeadersOptions, Omit<RouterOptions, 'bounds'> {
  basePath: string;
  addresses: ClientAddresses;
  corsOrigins: readonly string[];
  log: Logger;
  /** Default: passes the traces of callers on. */
  tracing?: Tracing;
  /** Answers the requests below a prefix, as the embedded issuer does. */
  before?: { prefix: string; middleware: Middleware };
}

export interface Chain {
  listener: RequestListener;
  /** Ends watches, followed logs and connections; clients resume them at another replica. */
  endLongRunning(): void;
  /** Returns the number of requests by kind. */
  inFlight(): Readonly<Record<Kind, number>>;
}

/** Returns the Koa app of one port. A request passes the middlewares from top to bottom. */
export function requestChain(options: ChainOptions): Chain {
  const { basePath, addresses, corsOrigins, log, metrics, before, requestTimeoutMs, tracing = new Tracing() } = options;
  const admission = new Admission(options);
  const app = new Koa();
  app.silent = true;
  useQueryOnce(app);
  // All errors were answered below; an error that arrives here broke an answer in the middle of its body.
  app.on('error', (_error: unknown, ctx: Context | undefined) => ctx?.res.destroy());

  app.use(requestState({ sourceOf: addresses.sourceOf, requestTimeoutMs, tracing }));
  app.use(requestRecords(log, metrics));
  app.use(responseHeaders(options));
  app.use(errorAnswers(log));
  app.use(admission.middleware);
  app.use(requestHead);
  if (basePath !== '') app.use(stripBasePath(basePath));
  app.use(representation);
  if (before) app.use(below(before, ownPlaces(options.authenticator, admission)));
  if (corsOrigins.length > 0) app.use(cors(corsOrigins));
  app.use(routeOperations({ ...options, bounds: admission }));

  return { listener: app.callback(), endLongRunning: () => admission.endLongRunning(), inFlight: () => admission.inFlight };
}

/** Passes the requests below a prefix to the middleware. Bodies are read by the middleware, and take no place before they have arrived. */
const below =
  ({ prefix, middleware }: NonNullable<ChainOptions['before']>, inOwnPlace: ReturnType<typeof ownPlaces>): Middleware =>
  (ctx, next) => {
    if (ctx.path !== prefix && !ctx.path.startsWith(`${prefix}/`)) return next();
    const answer = () => inOwnPlace(ctx, async () => void (await middleware(ctx, next)));
    const { lifetime } = ctx.state;
    return lifetime.kind === 'receiving' ? bodyArrival(ctx.req, lifetime.signal).then(answer) : answer();
  };

/**
 * Makes `ctx.query` in one pass. Koa's own getter looks for all values of a name once for each time that the name is there: a name that
 * fills the request line takes 300 ms.
 */
function useQueryOnce(app: Koa): void {
  Object.defineProperty(app.request, 'query', {
    get(this: Request) {
      return queryOf(this.querystring);
    },
  });
}

function queryOf(text: string): ParsedUrlQuery {
  const values = new Map<string, string[]>();
  for (const [name, value] of new URLSearchParams(text)) {
    const known = values.get(name);
    if (known === undefined) values.set(name, [value]);
    else known.push(value);
  }
  return Object.fromEntries([...values].map(([name, all]) => [name, all.length === 1 ? all[0] : all]));
}
