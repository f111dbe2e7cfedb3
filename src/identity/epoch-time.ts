/** Takes the place of `lib/helpers/epoch_time.js` of oidc-provider, the one module that reads a clock for what the library writes and compares. */
import { requestScope } from './request-scope.ts';

/** Seconds since 1970, by the time of the API server. */
// biome-ignore lint/style/noDefaultExport: the modules of the library import it so
export default (milliseconds = requestScope().now().getTime()): number => Math.floor(milliseconds / 1000);
