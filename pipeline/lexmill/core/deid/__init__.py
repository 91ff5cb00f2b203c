"""De-identification (去标识化): find personal data, replace it as courts do, check what is left."""
