/** Second factors: owners list, rename and remove them, administrators reset them. The page of the issuer sets them up. */
import type { Services } from '../services.ts';
import { factorOperations } from './routes.ts';
import { FactorService, type FactorServiceNeeds } from './service.ts';

/** Creates the feature. The embedded issuer asks for the factors. */
export const createFactors = (services: Services, needs: FactorServiceNeeds) => ({
  operations: factorOperations(new FactorService(services, needs), services.audit),
});
