/** Replaces `lib/helpers/epoch_time.js` of oidc-provider, the only module that reads a clock for times that the library stores. */
import { requestScope } from './request-scope.ts';

/** Returns Unix seconds by the clock of the API server. */
// biome-ignore lint/style/noDefaultExport: the modules of the library import it so
export default (milliseconds = requestScope().now().getTime()): number => Math.floor(milliseconds / 1000);
