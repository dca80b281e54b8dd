// The rights of the user: those of the token.
class Access {
  /** False: the token is for looking only. */
  change = $state(true)
}

export const access = new Access()
