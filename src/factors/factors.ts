/** Second factors: owners list, rename and remove them, administrators reset them. The page of the issuer sets them up. */
import type { Services } from '../services.ts';
import { factorOperations } from './routes.ts';
import { type FactorNeeds, FactorStrategy } from './strategy.ts';

/** Creates the feature. The embedded issuer asks for the factors. */
export const createFactors = (services: Services, needs: FactorNeeds) => ({
  operations: factorOperations(new FactorStrategy(services, needs), services.audit),
});
