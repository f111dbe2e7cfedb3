/** Creates and revokes one-time links of users. Requires the right to set their passwords. */
import type { Services } from '../services.ts';
import { linkOperations } from './routes.ts';
import { LinkService, type LinkServiceNeeds } from './service.ts';

/** Creates the operations for administrators. The links lead to a page of the embedded issuer. */
export const createOneTimeLinks = (services: Services, needs: LinkServiceNeeds) => ({
  operations: linkOperations(new LinkService(services, needs), services.audit),
  stop: () => needs.linkMail.stop(),
});
