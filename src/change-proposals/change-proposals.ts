/**
 * Changes that agents propose at `/mcp`. The service keeps each for ten minutes; the person sees its effect and confirms it, and the service
 * makes it with the rights of the person.
 */
import { Sweeper } from '@atrium/kubernetes/controllers/sweeper.ts';
import type { Feature, OwnSince, Services } from '../services.ts';
import { ChangeProposals } from './proposals.ts';
import { proposalOperations } from './routes.ts';
import { ProposalStore } from './store.ts';

export function createChangeProposals(services: Services, ownSince: OwnSince): Feature & { proposals: ChangeProposals } {
  const store = new ProposalStore(services);
  const proposals = new ChangeProposals(services, { store, ownSince });
  const sweeper = new Sweeper(services, store.sweep());
  return {
    proposals,
    operations: proposalOperations(proposals),
    checks: [],
    start: () => sweeper.start(),
    stop: () => sweeper.stop(),
  };
}
