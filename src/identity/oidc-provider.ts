/** The library, without its line about runtimes: this order of the imports is what keeps it back. */
import { restoreWarnings } from './quiet-import.ts';

export { errors, interactionPolicy, Provider } from 'oidc-provider';

restoreWarnings();
