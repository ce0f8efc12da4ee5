"""Plan search: exploration of alternatives, and the choice by cost."""
