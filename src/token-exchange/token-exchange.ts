/** Token exchange: machine users, whose pipelines have tokens of their own issuers in place of secrets (RFC 8693). */
import type { Feature, Services } from '../services.ts';
import type { ExchangedTokens } from '../tokens/exchanged.ts';
import type { AccountLookup } from '../users/record/lookup.ts';
import { TokenExchange } from './exchange.ts';
import { exchangeOperation } from './routes.ts';
import { WorkloadIssuers } from './workload-issuers.ts';

interface TokenExchangeNeeds {
  publicURL: string;
  accounts: AccountLookup;
  tokens: ExchangedTokens;
  /** Records the first use of a text. @returns false if it was used before, on any replica */
  useOnce(text: string, expiresAt: Date, signal: AbortSignal): Promise<boolean>;
  /** Reports whether the service has an operation of that id. */
  isOperation: (id: string) => boolean;
}

export function createTokenExchange(services: Services, { publicURL, ...needs }: TokenExchangeNeeds): Pick<Feature, 'operations' | 'stop'> {
  const issuers = new WorkloadIssuers(services);
  const exchange = new TokenExchange(services, { ...needs, issuers });
  return { operations: [exchangeOperation(exchange, publicURL)], stop: () => issuers.stop() };
}
