import { readReturnUrl } from '../text/provider-site.ts'

/** Parameters of the callback that tell the flows apart; one that came twice is empty. */
export interface CallbackParameters {
  code?: string | undefined
  state?: string | undefined
  error?: string | undefined
  step?: string | undefined
  returnUrl?: string | undefined
}

export type Flow =
  /** An install that began here, or any other visit. */
  | { is: 'own' }
  /** From the provider's marketplace: a code without a state. The customer goes back to `returnUrl` once it is stored. */
  | { is: 'marketplace'; returnUrl: string }
  /** With partner sign-in: the provider asks for a state first, and then comes with it and the code. */
  | { is: 'authorize' | 'finalize'; returnUrl: string }
  | { is: 'not-taken'; isSignIn: boolean; why: 'setting' | 'address' }

/** The flow that a visit of the callback belongs to. `isAllowed`: `provider.marketplaceInstall`. */
export function flowOf({ code, state, error, step, returnUrl }: CallbackParameters, isAllowed: boolean): Flow {
  const isSignIn = step === 'authorize' || step === 'finalize'
  const isMarketplace = code !== undefined && state === undefined && returnUrl !== undefined
  if (error !== undefined || !(isSignIn || isMarketplace)) return { is: 'own' }
  if (!isAllowed) return { is: 'not-taken', isSignIn, why: 'setting' }
  const address = readReturnUrl(returnUrl)
  if (address === undefined) return { is: 'not-taken', isSignIn, why: 'address' }
  return { is: isSignIn ? step : 'marketplace', returnUrl: address }
}
